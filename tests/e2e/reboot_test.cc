// A job that ran when its machine was restarted is lost: it is reported as lost, never shown as running, and never run
// a second time.
#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

class RebootTest : public TonyTest {
 protected:
  // Makes a job look as after a restart of its machine: it has no process, and its boot id is another one.
  void SetUp() override {
    HoldDetached(Workers(2, HoldUntilGo()) + kRequest, 2);
    ASSERT_TRUE(WaitForFile(box_.JobFolder(Job()) / "status.json"));
    ASSERT_TRUE(WaitFor([&] {
      // All processes are stopped first, so that none of them restarts another one.
      for (const Process& process : box_.Processes()) kill(process.pid, SIGSTOP);
      for (const Process& process : box_.Processes()) kill(process.pid, SIGKILL);
      return box_.Processes().empty();
    }));
    ASSERT_TRUE(fs::exists(box_.JobFolder(Job()) / "boot-id"));
    std::ofstream(box_.JobFolder(Job()) / "boot-id") << "00000000-0000-0000-0000-000000000000\n";
    before_ = ReadText(box_.JobFolder(Job()) / "status.json");
  }
  std::string Stored() const { return ReadText(box_.JobFolder(Job()) / "status.json"); }
  void ExpectLost(const Ran& ran, int exit) {
    EXPECT_EQ(ran.exit, exit) << ran.err;
    EXPECT_THAT(ran.out, HasAll({"FAILED", "the machine was restarted at "}));
    EXPECT_TRUE(box_.Processes().empty()) << "nothing is started for it";
  }

  inline static const Words kRequest{"--request-id", "r"};
  std::string before_;
};

TEST_F(RebootTest, TheStatusAndListCommandsReportALostJobWithoutWritingFiles) {
  ExpectLost(box_.Tony({"status", Job()}), 0);
  ExpectLost(box_.Tony({"list"}), 0);
  const auto status = Status();
  ExpectJson(status, {{"/verdict/class", "node_lost"}, {"/tasks/0/attempt_state", "lost"}});
  EXPECT_EQ(Stored(), before_);
}

TEST_F(RebootTest, TheWaitCommandReturnsAtOnceAndRecordsALostJobAsFailed) {
  ExpectLost(box_.Tony({"wait", Job()}), 1);
  EXPECT_EQ(Text(ParseJson(Stored()), "/state"), "FAILED");
  const std::string written = Stored();
  ExpectLost(box_.Tony({"wait", Job()}), 1);
  EXPECT_EQ(Stored(), written);
}

TEST_F(RebootTest, TheKillCommandReportsThatALostJobHasAlreadyEnded) {
  const Ran ran = box_.Tony({"kill", Job()});
  ExpectLost(ran, 0);
  EXPECT_THAT(ran.out, HasSubstr("had already ended"));
  EXPECT_EQ(Text(ParseJson(Stored()), "/state"), "FAILED");
}

// A file that was not synced may exist and be empty after a power cut.
TEST_F(RebootTest, TheStatusAndSubmitCommandsSucceedIfAPowerCutEmptiedFilesOfALostJob) {
  for (const char* name : {"status.json", "am.lease", "clock", "epoch"})
    std::ofstream(box_.JobFolder(Job()) / name, std::ios::trunc) << "";
  ExpectLost(box_.Tony({"status", Job()}), 0);
  Succeeds(One("true") + kRequest);
}

TEST_F(RebootTest, TheRecoverCommandRecordsALostJobAsFailedEvenIfItsStatusFileIsEmpty) {
  std::ofstream(box_.JobFolder(Job()) / "status.json", std::ios::trunc) << "";
  const Ran ran = box_.Tony({"recover"});
  EXPECT_THAT(ran.out, HasSubstr(Job() + " FAILED settled")) << ran.err;
  ExpectLost(box_.Tony({"status", Job()}), 0);
}

TEST_F(RebootTest, TheLogsCommandWithFollowExitsForALostJob) {
  const Ran ran = box_.Tony({"logs", Job(), "-f"});
  EXPECT_EQ(ran.exit, 1) << "as of the job";
  EXPECT_THAT(ran.out + ran.err, HasSubstr("the machine was restarted at "));
  EXPECT_EQ(Stored(), before_);
}

}  // namespace
}  // namespace tony
