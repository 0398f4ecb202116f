// Kills of a job whose journal is damaged; and jobs whose folder is removed under them.
#include <csignal>
#include <filesystem>
#include <fstream>

#include "tests/e2e/json.h"
#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

using boost::json::value;
using testing::HasSubstr;
using testing::IsEmpty;

class WithoutAmTest : public TonyTest {
 protected:
  Words SubmitWords(const std::string& owner, const std::string& watch_timeout = "600") const {
    return One(HoldUntilGo()) + more_ + Words{"--detach", "--json", "--request-id",    "engine://run/1",
                                              "--owner",  owner,    "--watch-timeout", watch_timeout};
  }
  value Json(const Words& arguments, int exit = 0) const {
    const Ran ran = box_.Tony(arguments + Words{"--json"});
    EXPECT_EQ(ran.exit, exit) << ran.err << ran.out;
    return ParseJson(ran.out);
  }
  std::string Submit(const std::string& owner, const std::string& watch_timeout = "600") {
    const Ran ran = box_.Tony(SubmitWords(owner, watch_timeout));
    EXPECT_EQ(ran.exit, 0) << ran.err;
    EXPECT_TRUE(WaitForRunning(1));
    return Job();
  }
  value Kill(const std::string& owner, const Words& more = {}) const {
    return Json(Words{"kill", "--request-id", "engine://run/1", "--if-owner", owner, "--reason", "no use"} + more);
  }
  void Strike(const std::string& program, int signal) const {
    for (const pid_t pid : box_.Pids(program)) kill(pid, signal);
  }
  // The AM is dead from the first line on, whatever it has just answered.
  void Damage() {
    Strike("tony-keeper", SIGSTOP);
    Strike("tony-am", SIGKILL);
    ASSERT_TRUE(WaitFor([&] { return box_.Pids("tony-am").empty(); }));
    std::fstream journal(box_.JobFolder(Job()) / "journal", std::ios::in | std::ios::out | std::ios::binary);
    ASSERT_TRUE(journal);
    journal.seekp(40);
    journal.put('\x7f');
    journal.close();
    Strike("tony-keeper", SIGCONT);
    ASSERT_TRUE(WaitFor([&] { return Stored().find("damaged at byte") != std::string::npos; }));
  }
  std::string Stored() const { return ReadText(box_.JobFolder(Job()) / "status.json"); }  // reading it is no look
  bool TaskRuns() const { return kill(std::stoi(ReadText(Running("worker-0"))), 0) == 0; }
  void ExpectEnded(const std::string& state, const std::string& message) {
    ASSERT_TRUE(WaitFor([&] { return box_.Processes().empty(); })) << ToString(box_.Processes());
    const auto status = Json({"status", Job()});
    EXPECT_EQ(Text(status, "/state"), state);
    EXPECT_THAT(Text(status, "/verdict/message"), HasSubstr(message));
  }

  Words more_;
};

TEST_F(WithoutAmTest, APlainKillEndsItAndOneWithAConditionIsRefusedInWords) {
  const std::string job = Submit("o1");
  EXPECT_EQ(At(Kill("o1", {"--delay", "2", "--no-wait"}), "/planned"), value(true));
  Damage();
  for (const Words& condition : {Words{"--if-owner", "o1"}, Words{"--if-watcher", "w1"}, Words{"--delay", "1"}}) {
    const Ran ran = box_.Tony(Words{"kill", job} + condition);
    EXPECT_EQ(ran.exit, 69) << ran.out;
    EXPECT_THAT(ran.err, HasSubstr("only that knows who owns and watches the job"));
    EXPECT_THAT(ran.err, HasSubstr("damaged at byte"));
    EXPECT_THAT(ran.err, HasSubstr("a kill without a condition ends it"));
  }
  EXPECT_TRUE(TaskRuns());
  EXPECT_EQ(At(Json({"kill", job, "--reason", "no use"}), "/killed"), value(true));
  ExpectEnded("KILLED", "no use");
  ExpectNothingLeft();
}

class RemovedFolderTest : public WithoutAmTest {
 protected:
  // By default an executor without a master waits 15 seconds, and a keeper 30.
  RemovedFolderTest() {
    more_ = Conf("tony.am.lease-ms=700") + Conf("tony.task.heartbeat-interval-ms=100") +
            Conf("tony.task.record-fresh-ms=500") + Conf("tony.task.cutoff-after-ms=2200") +
            Conf("tony.task.stop-grace-ms=500");
  }
  void Remove(const std::string& job) {
    ASSERT_TRUE(WaitFor([&] {
      std::error_code error;
      std::filesystem::remove_all(box_.JobFolder(job), error);
      return !std::filesystem::exists(box_.JobFolder(job));
    }));
  }
  bool EverythingLeft() const {
    return WaitFor([&] { return box_.Processes().empty(); }, Limit(60'000));
  }
};

TEST_F(RemovedFolderTest, EverythingOfTheJobLeaves) {
  Remove(Submit("o1"));
  EXPECT_TRUE(EverythingLeft()) << ToString(box_.Processes());
}

TEST_F(RemovedFolderTest, AMasterWithoutItsKeeperLeavesAsItsExecutorsDo) {
  const std::string job = Submit("o1");
  Strike("tony-am", SIGSTOP);
  Strike("tony-keeper", SIGKILL);
  Remove(job);
  Strike("tony-am", SIGCONT);
  EXPECT_TRUE(EverythingLeft()) << ToString(box_.Processes());
}

}  // namespace
}  // namespace tony
