// What `tony list` says of jobs that nobody rules or that cannot be read, and a client whose job has lost its token.
#include <signal.h>

#include <filesystem>
#include <fstream>

#include "tests/e2e/json.h"
#include "tests/e2e/tony_test.h"
#include "tests/support/places.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class ListTest : public TonyTest {
 protected:
  // A job whose task runs and waits for Go().
  std::string StartHeld() const {
    const Ran ran = box_.Tony(One(HoldUntilGo()) + Words{"--detach"});
    EXPECT_EQ(ran.exit, 0) << ran.err;
    EXPECT_TRUE(WaitForRunning(1));
    return Job();
  }
  // Stopped first: each would bring back the other.
  void KillKeeperAndMaster() const {
    const std::vector<pid_t> keeper = box_.Pids("tony-keeper"), master = box_.Pids("tony-am");
    ASSERT_EQ(keeper.size(), 1u);
    ASSERT_EQ(master.size(), 1u);
    for (const int signal : {SIGSTOP, SIGKILL}) {
      kill(keeper.front(), signal);
      kill(master.front(), signal);
    }
    ASSERT_TRUE(WaitFor([&] { return box_.Pids("tony-keeper").empty() && box_.Pids("tony-am").empty(); }));
  }
};

TEST_F(ListTest, AJobThatNobodyRulesIsListedAsSuch) {
  const std::string job = StartHeld();
  EXPECT_THAT(box_.Tony({"list"}).out, Not(HasSubstr("unruled")));
  EXPECT_THAT(box_.Tony({"list", "--json"}).out, HasSubstr(R"("unruled":false)"));
  KillKeeperAndMaster();
  const Ran list = box_.Tony({"list"});
  EXPECT_THAT(list.out, HasSubstr(job + "  unruled"));
  EXPECT_THAT(list.out, HasSubstr("nobody rules it; tony wait " + job + " brings it back\n"));
  EXPECT_THAT(box_.Tony({"list", "--json"}).out, HasSubstr(R"("unruled":true)"));
  Go();
  EXPECT_EQ(box_.Tony({"wait", job}).exit, 0);
}

TEST_F(ListTest, AnAnswerThatIsLostIsAFailureAndAJobsEndIsTold) {
  const auto shell = [&](const std::string& words) {
    const std::string line = ProgramFolder() + "/tony " + words;
    return Background({"/bin/bash", "-c", line}, box_.Environment(), box_.folder()).Wait();
  };
  for (const std::string answer : {"list", "list --json", "history", "version", "help"}) {
    const Ran lost = shell(answer + " >/dev/full");
    EXPECT_EQ(lost.exit, 73) << answer;
    EXPECT_EQ(lost.err, "tony: standard output: no space left on device\n") << answer;
  }
  for (const std::string answer : {"version >&-", "list <&- >&-"}) EXPECT_EQ(shell(answer).exit, 73) << answer;
  const Ran job = shell("submit -executes true -conf tony.worker.instances=1 -conf tony.worker.memory=16m >/dev/full");
  EXPECT_EQ(job.exit, 0);
  EXPECT_THAT(job.err, HasSubstr("tony: standard output: no space left on device\n"));
  EXPECT_EQ(shell("outputs " + Job() + " >/dev/full").exit, 73);
}

TEST_F(ListTest, ADiskThatFailsIsNotAnEmptyList) {
  ASSERT_EQ(box_.Tony(One("true")).exit, 0);
  fs::create_directory(box_.File("shim"));
  const Sandbox::Variables broken = WithShim("crash_shim", {{"SHIM_FOLDER", box_.File("shim")},
                                                            {"SHIM_PROGRAM", "tony"},
                                                            {"SHIM_ROOT", box_.home().string()},
                                                            {"SHIM_UNREADABLE", "1"}});
  const Ran list = box_.Tony({"list"}, broken);
  EXPECT_EQ(list.exit, 69);
  EXPECT_THAT(list.out, IsEmpty());
  EXPECT_THAT(list.err, HasSubstr("tony: job " + Job() + " left out: "));
  EXPECT_THAT(list.err, HasSubstr("input/output error\n"));
  EXPECT_THAT(list.err, HasSubstr("tony: 1 of 1 jobs could not be read\n"));
  const Ran json = box_.Tony({"list", "--json"}, broken);
  EXPECT_EQ(json.exit, 69);
  EXPECT_THAT(json.out, HasSubstr(R"("jobs":[])"));
  EXPECT_THAT(json.out, HasSubstr(R"("error":{"code":69)"));
}

TEST_F(ListTest, ADamagedJobHidesNoOtherAndIsNotSuccess) {
  ASSERT_EQ(box_.Tony(One("true")).exit, 0);
  const std::string damaged = Job();
  ASSERT_EQ(box_.Tony(One("true")).exit, 0);
  std::ofstream(box_.JobFolder(damaged) / "status.json") << "{";
  const Ran list = box_.Tony({"list"});
  EXPECT_EQ(list.exit, 65) << list.err;
  EXPECT_EQ(CountLines(list.out), 2u) << list.out;
  EXPECT_THAT(list.err, HasSubstr("tony: 1 of 2 jobs could not be read\n"));
  EXPECT_EQ(CountLines(list.err), 2u) << list.err;
}

TEST_F(ListTest, AJobWithoutItsTokenIsFollowedByItsFiles) {
  const std::string job = StartHeld();
  fs::remove(box_.JobFolder(job) / "token");
  const auto wait = box_.StartTony({"wait", job});
  ASSERT_TRUE(WaitFor([&] { return wait->err().find("following the job's files instead") != std::string::npos; }))
      << wait->err();
  Go();
  const Ran ran = wait->Wait();
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("token: no such file or directory; following the job's files instead\n"));
}

}  // namespace
}  // namespace tony
