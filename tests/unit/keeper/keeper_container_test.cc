// The keeper's containers: how they start and end, and how the next keeper adopts the containers of a dead one.
#include <gmock/gmock.h>

#include "runtime/keeper/keeper_pulse.h"
#include "runtime/keeper/message_channel.h"
#include "runtime/os/users.h"
#include "tests/unit/keeper/keeper_script.h"

namespace tony {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using std::chrono_literals::operator""ms;

const TestRow kContainers[] = {
    {"TheEndOfAnExecutorIsReportedWithItsExitCodeOrSignal",
     {{"begin | launch 1-1 exit 9 | launch 1-2 kill -9 $$ | end 1-1 | end 1-2 | is-started 1-1",
       "code 9 | signal 9 | yes"}}},
    {"AnExecutorGetsEnvironmentVariablesFromJobAndLaunchRequestAndKeeper",
     {{"begin | launch-with 1-1 FROM=launch,TONY_CONTAINER=forged env|sort; pwd | end 1-1", "code 0"},
      {"says logs/1-1/log FROM=launch\n | says logs/1-1/log PATH=/usr/bin:/bin\n | says logs/1-1/log TONY_JOB_ID=#\n",
       "yes | yes | yes"},
      {"says logs/1-1/log TONY_CONTAINER=#/1-1\n | says logs/1-1/log \n@\n | says logs/1-1/log TONY_AM",
       "yes | yes | no"}}},
    {"RepeatedLaunchRequestsStartAContainerOnlyOnce",
     {{"begin | launch 1-1 echo x >>starts; sleep 1000 | launch 1-1 echo x >>starts; sleep 1000 | file starts", ""},
      {"launch 1-1 echo x >>starts; sleep 1000 | launch 1-2 exit 0 | end 1-2 | text starts", "code 0 | x,"}}},
    {"AContainerWhoseProgramCannotBeStartedEndsWithAnErrorAndNoExitCode",
     {{"begin | start-program 1-1 /no/such/executor | end 1-1",
       "unseen: start /no/such/executor: no such file or directory"}}},
    {"ALaunchRequestAbove128KibIsAnError",
     {{"begin | launch-with 1-1 HUGE=" + std::string(kMaxKeeperMessage, 'x') + " exit 0 | end 1-1",
       "~more than 131072 bytes"}}},
    {"AStoppedExecutorGetsSigtermAndTimeToExit",
     {{"begin | launch 1-1 trap 'echo term >stopped; exit 5' TERM; >ready; while :; do sleep 0.01; done", ""},
      {"file ready | term 1-1 | end 1-1 | text stopped", "code 5 | term,"}}},
    {"KillingAContainerEndsAllProcessesOfThisContainerOnly",
     {{"begin | launch 1-1 trap '' TERM; setsid sleep 1000 & setsid env -i sleep 1000 & >ready1; wait", ""},
      {"launch 1-2 setsid sleep 1000 & >ready2; wait | file ready1 | file ready2 | processes 1-1 2 | processes 1-2 2",
       ""},
      {"kill 1-1 | end 1-1 | has 1-1 | has 1-2 | is-ended 1-2", "signal 9 | 0 | 2 | no"}}},
    {"LeftoverProcessesOfADeadExecutorAreKilledBeforeTheExecutorsExitIsReported",
     {{"begin | launch 1-1 setsid sleep 1000 & (setsid sh -c 'sleep 1000 & sleep 1000' &) ;"
       "setsid env -i sh -c 'sleep 1000 & >bare; sleep 1000' & >ready; echo $$ >pid; wait",
       ""},
      {"file ready | file bare | processes 1-1 5 | more-descendants 5 | kill-pid pid | end 1-1", "yes | signal 9"},
      {"has 1-1 | more-descendants 1", "0 | no"}}},  // only the AM is left
    {"KillingAContainerEndsItsForkBomb",
     {{"begin | launch 1-1 f() { setsid sh -c 'while :; do setsid sleep 0.02 & sleep 0.01; done' & }; f; f; f; >ready; "
       "wait | file ready | kill 1-1 | end 1-1 | has 1-1",
       "signal 9 | 0"}}},
    {"AContainerThatIsStoppedBeforeItsLaunchRequestNeverStarts",
     {{"begin | term 1-1 | end 1-1 | launch 1-1 >ran | launch 1-2 exit 0 | end 1-2 | is ran | told",
       "^unseen | code 0 | no | reached 1 lost 0 ends 2"}}},  // each end is reported once
    {"TheExitOfAContainerIsReportedWithTheOutcomeThatTheExecutorSaved",
     {{"begin | keep 1-1 kept | launch 1-1 exit 1 | launch 1-2 exit 1 | end 1-1 | end 1-2 | kept 1-1 | kept 1-2",
       "code 1 | code 1 | user_error kept | none"}}},
    {"FilesOfTheKeeperArePrivate",
     {{"begin | launch 1-1 exit 0 | end 1-1", "code 0"},
      {"mode keeper.sock | mode keeper.lock | mode keeper.log | mode am.log", "600 | 600 | 600 | 600"},
      {"mode epoch | mode containers/1-1 | mode logs/1-1/log | mode logs/1-1", "600 | 600 | 600 | 700"}}},
};
TABLE_TEST(KeeperContainerTest, kContainers, ScriptIn<KeeperWorld>());

class KeeperCrowdTest : public KeeperWorld {
 protected:
  KeeperCrowdTest() { Begin(); }
};

TEST_F(KeeperCrowdTest, EachContainerRequestIsGrantedWithItsOwnContainerId) {
  scheduler_->Request({{{{"worker", 0}, 1}, {}}, {{{"worker", 1}, 1}, {}}});
  EXPECT_THAT(Told<ContainerGranted>(), IsEmpty()) << "told from inside the call";
  scheduler_->Request({{{{"ps", 0}, 1}, {}}});
  ASSERT_TRUE(WaitFor([&] { return Told<ContainerGranted>().size() == 3; }));
  const auto grants = Told<ContainerGranted>();
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(grants[i].container.value, StrCat("1-", i + 1));
  EXPECT_EQ(grants[2].attempt, (AttemptId{{"ps", 0}, 1}));
  EXPECT_EQ(grants[0].host, "127.0.0.1");
}

TEST_F(KeeperCrowdTest, All300SimultaneousLaunchesAreExecuted) {
  constexpr int kMany = 300;  // more than the socket's buffer holds
  // The AM of the same epoch gets a longer lease. With the usual ten seconds a slow answer would lose the keeper, and
  // the inventory after that would hold ended containers that were never reported as started.
  BecomeAm({1}, std::chrono::minutes(10));
  const std::string ballast(2000, 'x');
  for (int i = 0; i < kMany; ++i) Launch(StrCat("1-", i), "exit 0", {"BALLAST=" + ballast});
  ASSERT_TRUE(WaitFor([&] { return Told<ContainerExited>().size() == kMany; }));
  EXPECT_THAT(Told<ContainerStarted>(), SizeIs(kMany));
}

TEST_F(KeeperCrowdTest, ThirtyTwoContainersStartWithin10Seconds) {
  const Instant begin = loop_.Now();
  for (int i = 0; i < 32; ++i) Launch(StrCat("1-", i), "exec sleep 1000");
  ASSERT_TRUE(WaitFor([&] { return Told<ContainerStarted>().size() == 32; }));
  const Duration took = loop_.Now() - begin;
  RecordProperty("milliseconds", static_cast<int>(took.count()));
  EXPECT_LT(took, Duration(10'000)) << "tens of milliseconds on a quiet machine";
}

// ---- a keeper that was killed, or hangs

const TestRow kRecoveries[] = {
    {"ARestartedKeeperResumesSupervisionOfItsRunningExecutors",
     {{"begin | launch 1-1 while ! [ -e go ]; do sleep 0.01; done; exit 3", ""},
      {"launch 1-2 setsid sleep 1000 & sleep 1000 | processes 1-2 3 | started 1-1 | next-keeper | keepers", "2"},
      {"running | has-the-same 1-2 | told | text ams", "runs 1-1 1-2 | yes | reached 2 lost 0 ends 0 | 1,"},
      {"write go | end 1-1", "^unseen"},  // not its child: exit status unknown
      {"term 1-2 | end 1-2 | has 1-2", "^unseen | 0"}}},
    {"AnExecutorThatEndsWhileNoKeeperRunsIsReportedByTheNextKeeper",
     {{"begin | launch 1-1 setsid sleep 1000 & echo $$ >pid; exec sleep 1000 | launch 1-2 exit 6", ""},
      {"processes 1-1 2 | end 1-2 | hang-up | kill-keeper | kill-pid pid | begin | end 1-1", "code 6 | ^unseen"},
      // The end that an earlier keeper saw is not lost.
      {"has 1-1 | end 1-2", "0 | code 6"}}},
    {"ExecutorsKeepRunningWhenKeeperAndAmDieTogetherAndAreReplaced",
     {{"begin | launch 1-1 exec sleep 1000 | started 1-1 | hang-up | kill-keeper | kill-am | am-gone | keeper", ""},
      {"ams 1,2 | am 2 | running | has 1-1", "runs 1-1 | 1"}}},
    {"AnAmThatDiesBeforeItsHelloToTheNewKeeperIsReplaced",
     {{"keeper | filled ams | kill-keeper | keeper | kill-am | ams 1,2", ""}}},
    {"AnAmThatSendsNoHelloToTheNewKeeperIsReplaced",
     {{"limit ADOPTION=200 | keeper | remember-am | kill-keeper | keeper | ams 1,2 | another-am", ""}}},
    {"TheLastEpochIsReadFromTheLeaseIfTheEpochFileIsEmpty",
     {{"write epoch | lease-of 5 | keeper | filled ams | text ams", "6,"}}},
    // The records look as if the keeper had died between the fork and its record (1-1), and before the fork (1-2).
    {"AnExecutorWhoseStartWasNotRecordedIsFoundByItsEnvironmentMark",
     {{"begin | launch 1-1 sleep 1000 & wait | processes 1-1 2 | hang-up | kill-keeper", ""},
      {"write containers/1-1 launching; | write containers/1-2 launching; | begin | running", "runs 1-1"},
      {"has 1-1 | end 1-2 | kill 1-1 | end 1-1 | has 1-1", "2 | ^unseen | ^unseen | 0"}}},
    {"AnotherProcessWithThePidOfADeadExecutorIsNotMistakenForTheExecutor",
     {{StrCat("keeper | file ams | kill-keeper | write containers/1-1 launching;started ", getpid(),
              " 1; | begin | end 1-1"),
       "^unseen"}}},  // this process was not killed
    {"AmCommandsSentWhileNoKeeperRunsAreExecutedByTheNextKeeper",
     {{"begin | launch 1-1 exec sleep 1000 | started 1-1 | kill-keeper | kill 1-1 | launch 1-2 exit 8", ""},
      {"end 1-1 | end 1-2", "^unseen | code 8"}}},
    // Without mark, descent and session, only the log that the daemon writes to shows its container.
    {"TheNextKeeperKillsADaemonWithoutEnvironmentWhenItsExecutorDies",
     {{"begin | launch 1-1 setsid env -i /bin/sh -c 'echo $$ >bare; exec sleep 1000' & echo $$ >pid; exec sleep 1000",
       ""},
      {"filled bare | filled pid | next-keeper | lives bare | kill-pid pid | end 1-1 | lives bare",
       // The daemon is killed before the end is reported.
       "yes | ^unseen | no"}}},
    {"TheAmReportsASuspendedKeeperAsLostAndReconnectsWhenTheKeeperResumes",
     {{"keeper | am 1 1500 | launch 1-1 exec sleep 1000 | started 1-1 | signal-keeper SIGSTOP | lost | told",
       "reached 1 lost 1 ends 0"},
      {"signal-keeper SIGCONT | reached 2 | running | keepers | text ams", "runs 1-1 | 1 | 1,"}}},
    {"EveryContainerAndExitReportSurvivesFourKillsOfTheKeeper",
     {{"begin | launch 1-1 exec sleep 1000 | started 1-1 | processes 1-1 1", ""},
      {"kill-keeper | launch 1-2 exit 2 | reached 2 | end 1-2 | newest-keeper", "code 2"},
      {"kill-keeper | launch 1-3 exit 3 | reached 3 | end 1-3 | newest-keeper", "code 3"},
      {"kill-keeper | launch 1-4 exit 4 | reached 4 | end 1-4 | newest-keeper", "code 4"},
      {"kill-keeper | launch 1-5 exit 5 | reached 5 | end 1-5 | has-the-same 1-1 | text ams", "code 5 | yes | 1,"}}},
};
TABLE_TEST(KeeperRecoveryTest, kRecoveries, ScriptIn<KeeperWorld>());

class KeeperRecoveryFromHangTest : public KeeperWorld {
 protected:
  KeeperRecoveryFromHangTest() {
    keeper_ = StartKeeper();
    kill(keeper_, SIGSTOP);
    EXPECT_TRUE(WaitFor([&] { return ReadStat(keeper_)->state == 'T'; }));
  }
};

TEST_F(KeeperRecoveryFromHangTest, AKeeperSuspendedBySigstopIsReportedAsSilentUntilSigcont) {
  KeeperPulse pulse(records_);
  Instant now = FromMillis(1'000'000);
  const auto silence = [&] { return pulse.Silence(now += std::chrono::seconds(1)); };
  EXPECT_EQ(silence(), Duration(0)) << "it has just been asked";
  EXPECT_EQ(silence(), 1000ms);
  EXPECT_EQ(silence(), 2000ms);
  now += std::chrono::minutes(1);
  EXPECT_EQ(silence(), Duration(0)) << "who was stopped itself has not waited";
  EXPECT_EQ(silence(), 1000ms);
  kill(keeper_, SIGCONT);
  EXPECT_TRUE(WaitFor([&] { return pulse.Silence(now) == Duration(0); }));
}

// AMs that connect to a stopped keeper again and again fill its queue.
TEST_F(KeeperRecoveryFromHangTest, AKeeperWithAFullConnectionQueueIsReportedAsSilent) {
  std::vector<UniqueFd> others;
  for (auto other = ConnectToKeeper(records_); other.ok(); other = ConnectToKeeper(records_))
    others.push_back(*std::move(other));
  KeeperPulse pulse(records_);
  const Instant now = FromMillis(1'000'000);
  EXPECT_EQ(pulse.Silence(now), Duration(0));
  EXPECT_EQ(pulse.Silence(now + 1000ms), 1000ms);
  kill(keeper_, SIGCONT);
  EXPECT_TRUE(WaitFor([&] { return pulse.Silence(now + 1000ms) == Duration(0); }));
}

TEST_F(KeeperRecoveryFromHangTest, KillingASuspendedKeeperFreesItsLock) {
  EXPECT_THAT(KeepersOf(records_), ElementsAre(keeper_));
  EXPECT_EQ(tony::DescribeBlocker(records_), StrCat("process ", keeper_, " (tony-keeper) of ", UserName(geteuid()),
                                                    ", stopped (state T): \"kill -CONT ", keeper_, "\" resumes it"));
  EndKeeper(records_);
  EXPECT_TRUE(WaitFor([&] { return keepers_[keeper_].has_value(); }));
  EXPECT_FALSE(JobFolder(records_).IsLocked("keeper.lock"));
  EXPECT_THAT(KeepersOf(records_), IsEmpty());
}

}  // namespace
}  // namespace tony
