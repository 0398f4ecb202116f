// What `tony list` says of jobs that nobody rules or that cannot be read, and a client whose job has lost its token.
#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

class ListTest : public TonyTest {
 protected:
  // A job whose task runs and waits for Go().
  std::string StartHeld() const {
    Succeeds(One(HoldUntilGo()) + Words{"--detach"});
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
  EXPECT_THAT(list.out, HasAll({job + "  unruled", "nobody rules it; tony wait " + job + " brings it back\n"}));
  EXPECT_THAT(box_.Tony({"list", "--json"}).out, HasSubstr(R"("unruled":true)"));
  Go();
  Succeeds({"wait", job});
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
  Succeeds(One("true"));
  fs::create_directory(box_.File("shim"));
  const Sandbox::Variables broken = WithShim("crash_shim", {{"SHIM_FOLDER", box_.File("shim")},
                                                            {"SHIM_PROGRAM", "tony"},
                                                            {"SHIM_ROOT", box_.home().string()},
                                                            {"SHIM_UNREADABLE", "1"}});
  const Ran list = Fails(69, {"list"}, broken);
  EXPECT_THAT(list.out, IsEmpty());
  EXPECT_THAT(list.err, HasAll({"tony: job " + Job() + " left out: ", "input/output error\n",
                                "tony: 1 of 1 jobs could not be read\n"}));
  const Ran json = Fails(69, {"list", "--json"}, broken);
  EXPECT_THAT(json.out, HasAll({R"("jobs":[])", R"("error":{"code":69)"}));
}

TEST_F(ListTest, ADamagedJobHidesNoOtherAndIsNotSuccess) {
  Succeeds(One("true"));
  const std::string damaged = Job();
  Succeeds(One("true"));
  std::ofstream(box_.JobFolder(damaged) / "status.json") << "{";
  const Ran list = Fails(65, {"list"});
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
  const Ran ran = GoAndEnd(*wait);
  EXPECT_THAT(ran.err, HasSubstr("token: no such file or directory; following the job's files instead\n"));
}

}  // namespace
}  // namespace tony
