#include <gmock/gmock.h>
#include <sys/stat.h>

#include <csignal>
#include <fstream>

#include "runtime/base/strings.h"
#include "runtime/os/process_tree.h"
#include "tests/unit/keeper/keeper_fixture.h"

namespace tony {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Kind = ExitStatus::Kind;

class KeeperContainerTest : public KeeperFixture {
 protected:
  KeeperContainerTest() {
    keeper_ = StartKeeper();
    BecomeAm({1});
  }
  pid_t keeper_ = 0;
};

TEST_F(KeeperContainerTest, EveryAskIsGrantedUnderANameOfItsOwn) {
  scheduler_->Request({{{{"worker", 0}, 1}, {}}, {{{"worker", 1}, 1}, {}}});
  EXPECT_THAT(Told<ContainerGranted>(), IsEmpty()) << "told from inside the call";
  scheduler_->Request({{{{"ps", 0}, 1}, {}}});
  ASSERT_TRUE(WaitFor([&] { return Told<ContainerGranted>().size() == 3; }));
  const auto grants = Told<ContainerGranted>();
  EXPECT_EQ(grants[0].container.value, "1-1");
  EXPECT_EQ(grants[1].container.value, "1-2");
  EXPECT_EQ(grants[2].container.value, "1-3");
  EXPECT_EQ(grants[2].attempt, (AttemptId{{"ps", 0}, 1}));
  EXPECT_EQ(grants[0].host, "127.0.0.1");
}

TEST_F(KeeperContainerTest, EndsAreToldWhole) {
  Launch("1-1", "exit 9");
  Launch("1-2", "kill -9 $$");
  ASSERT_TRUE(WaitFor([&] { return Exit("1-1") && Exit("1-2"); }));
  EXPECT_EQ(Exit("1-1")->status, (ExitStatus{Kind::kExited, 9}));
  EXPECT_EQ(Exit("1-2")->status, (ExitStatus{Kind::kSignaled, SIGKILL}));
  EXPECT_TRUE(Started("1-1"));
}

TEST_F(KeeperContainerTest, ExecutorHasTheJobsEnvironmentItsOwnAndTheMarks) {
  Launch("1-1", "env | sort; pwd", {"FROM=launch", "TONY_CONTAINER=forged"});
  ASSERT_TRUE(WaitFor([&] { return Exit("1-1"); }));
  EXPECT_THAT(Content("logs/1-1/log"), AllOf(HasSubstr("FROM=launch\n"), HasSubstr("PATH=/usr/bin:/bin\n"),
                                             HasSubstr("TONY_JOB_ID=" + records_.job().value + "\n"),
                                             HasSubstr("TONY_CONTAINER=" + records_.job().value + "/1-1\n"),
                                             HasSubstr("\n" + records_.place().string() + "\n")));
  EXPECT_THAT(Content("logs/1-1/log"), ::testing::Not(HasSubstr("TONY_AM")));
}

TEST_F(KeeperContainerTest, LaunchingTwiceStartsOnce) {
  Launch("1-1", "echo x >>starts; sleep 1000");
  Launch("1-1", "echo x >>starts; sleep 1000");
  ASSERT_TRUE(WaitForFile("starts"));
  Launch("1-1", "echo x >>starts; sleep 1000");
  Launch("1-2", "exit 0");
  ASSERT_TRUE(WaitFor([&] { return Exit("1-2"); }));
  EXPECT_EQ(Content("starts"), "x\n");
}

TEST_F(KeeperContainerTest, ManyLaunchesAtOnceAllArrive) {
  constexpr int kMany = 300;  // far more than the socket's buffer holds
  // As the same AM: no answer for the ten seconds of a lease would lose the keeper, whose inventory has ended
  // containers that were never said to have started.
  BecomeAm({1}, std::chrono::minutes(10));
  const std::string ballast(2000, 'x');
  for (int i = 0; i < kMany; ++i) Launch(StrCat("1-", i), "exit 0", {"BALLAST=" + ballast});
  ASSERT_TRUE(WaitFor([&] { return Told<ContainerExited>().size() == kMany; }));
  EXPECT_THAT(Told<ContainerStarted>(), SizeIs(kMany));
}

TEST_F(KeeperContainerTest, GangOfThirtyTwoStartsAtOnce) {
  const Instant begin = loop_.Now();
  for (int i = 0; i < 32; ++i) Launch(StrCat("1-", i), "exec sleep 1000");
  ASSERT_TRUE(WaitFor([&] { return Told<ContainerStarted>().size() == 32; }));
  const Duration took = loop_.Now() - begin;
  RecordProperty("milliseconds", static_cast<int>(took.count()));
  EXPECT_LT(took, Duration(10'000)) << "tens of milliseconds on a quiet machine";
}

TEST_F(KeeperContainerTest, ProgramThatCannotBeStartedIsAnErrorAndNoExitCode) {
  launches_[{"1-1"}] = {{"/no/such/executor"}, {}, ""};
  scheduler_->Launch({"1-1"}, {});
  ASSERT_TRUE(WaitFor([&] { return Exit("1-1"); }));
  EXPECT_FALSE(Exit("1-1")->status);
  EXPECT_EQ(Exit("1-1")->error, "start /no/such/executor: no such file or directory");
}

TEST_F(KeeperContainerTest, LaunchThatFitsNoMessageIsAnError) {
  Launch("1-1", "exit 0", {"HUGE=" + std::string(kMaxKeeperMessage, 'x')});
  ASSERT_TRUE(WaitFor([&] { return Exit("1-1"); }));
  EXPECT_THAT(Exit("1-1")->error, HasSubstr("above 131072 bytes"));
}

TEST_F(KeeperContainerTest, AskedToStopAnExecutorGetsTermAndMayTakeItsTime) {
  Launch("1-1", "trap 'echo term >stopped; exit 5' TERM; >ready; while :; do sleep 0.01; done");
  ASSERT_TRUE(WaitForFile("ready"));
  scheduler_->Stop({"1-1"}, StopMode::kTerm);
  ASSERT_TRUE(WaitFor([&] { return Exit("1-1"); }));
  EXPECT_EQ(Exit("1-1")->status, (ExitStatus{Kind::kExited, 5}));
  EXPECT_EQ(Content("stopped"), "term\n");
}

TEST_F(KeeperContainerTest, KillEndsAllOfAContainerAndNothingElse) {
  Launch("1-1", "trap '' TERM; setsid sleep 1000 & setsid env -i sleep 1000 & >ready1; wait");
  Launch("1-2", "setsid sleep 1000 & >ready2; wait");
  ASSERT_TRUE(WaitForFile("ready1") && WaitForFile("ready2"));
  ASSERT_TRUE(WaitFor([&] { return Marked("1-1").size() == 2 && Marked("1-2").size() == 2; }));
  scheduler_->Stop({"1-1"}, StopMode::kKill);
  ASSERT_TRUE(WaitFor([&] { return Exit("1-1"); }));
  EXPECT_EQ(Exit("1-1")->status, (ExitStatus{Kind::kSignaled, SIGKILL}));
  EXPECT_THAT(Marked("1-1"), IsEmpty());
  EXPECT_THAT(Marked("1-2"), SizeIs(2));
  EXPECT_FALSE(Exit("1-2"));
}

TEST_F(KeeperContainerTest, WhatADeadExecutorLeavesIsGoneBeforeItsEndIsTold) {
  Launch("1-1",
         "setsid sleep 1000 & (setsid sh -c 'sleep 1000 & sleep 1000' &) ;"
         "setsid env -i sh -c 'sleep 1000 & >bare; sleep 1000' & >ready; wait");
  ASSERT_TRUE(WaitForFile("ready") && WaitForFile("bare"));
  ASSERT_TRUE(WaitFor([&] { return Marked("1-1").size() == 5; }));
  const size_t below = Descendants(keeper_).size();
  for (const auto& process : ListProcesses())
    if (process.parent == keeper_ && VariableIn(process.environment, "TONY_CONTAINER").ends_with("/1-1") &&
        getsid(process.pid) == process.pid &&
        Content("containers/1-1").find(StrCat(" ", process.pid, " ")) != std::string::npos)
      kill(process.pid, SIGKILL);
  ASSERT_TRUE(WaitFor([&] { return Exit("1-1"); }));
  EXPECT_EQ(Exit("1-1")->status, (ExitStatus{Kind::kSignaled, SIGKILL}));
  EXPECT_THAT(Marked("1-1"), IsEmpty());
  EXPECT_GT(below, 5u);
  EXPECT_THAT(Descendants(keeper_), SizeIs(1)) << "the AM alone";
}

TEST_F(KeeperContainerTest, ForkBombIsEndedWithItsExecutor) {
  Launch("1-1", "f() { setsid sh -c 'while :; do setsid sleep 0.02 & sleep 0.01; done' & }; f; f; f; >ready; wait");
  ASSERT_TRUE(WaitForFile("ready"));
  scheduler_->Stop({"1-1"}, StopMode::kKill);
  ASSERT_TRUE(WaitFor([&] { return Exit("1-1"); }));
  EXPECT_THAT(Marked("1-1"), IsEmpty());
}

TEST_F(KeeperContainerTest, StoppedBeforeItsLaunchItNeverStarts) {
  scheduler_->Stop({"1-1"}, StopMode::kTerm);
  ASSERT_TRUE(WaitFor([&] { return Exit("1-1"); }));
  EXPECT_FALSE(Exit("1-1")->status);
  Launch("1-1", ">ran");
  Launch("1-2", "exit 0");
  ASSERT_TRUE(WaitFor([&] { return Exit("1-2"); }));
  EXPECT_FALSE(std::filesystem::exists(records_.place() / "ran"));
  EXPECT_THAT(Told<ContainerExited>(), SizeIs(2)) << "each end once";
}

TEST_F(KeeperContainerTest, AnExitComesWithWhatTheExecutorKept) {
  kept_[{"1-1"}] = {.cls = OutcomeClass::kUserError, .message = "kept"};
  Launch("1-1", "exit 1");
  Launch("1-2", "exit 1");
  ASSERT_TRUE(WaitFor([&] { return Exit("1-1") && Exit("1-2"); }));
  ASSERT_TRUE(Exit("1-1")->kept);
  EXPECT_EQ(Exit("1-1")->kept->outcome, kept_.at({"1-1"}));
  EXPECT_FALSE(Exit("1-2")->kept);
}

TEST_F(KeeperContainerTest, FilesOfTheKeeperArePrivate) {
  Launch("1-1", "exit 0");
  ASSERT_TRUE(WaitFor([&] { return Exit("1-1"); }));
  for (const char* name :
       {"keeper.sock", "keeper.lock", "keeper.log", "am.log", "epoch", "containers/1-1", "logs/1-1/log"})
    EXPECT_EQ(std::filesystem::status(records_.place() / name).permissions(), std::filesystem::perms(0600)) << name;
  EXPECT_EQ(std::filesystem::status(records_.place() / "logs/1-1").permissions(), std::filesystem::perms(0700));
}

}  // namespace
}  // namespace tony
