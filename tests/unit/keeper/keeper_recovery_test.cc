#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "runtime/base/strings.h"
#include "runtime/keeper/keeper_pulse.h"
#include "runtime/keeper/message_channel.h"
#include "runtime/os/files.h"
#include "runtime/os/process_tree.h"
#include "runtime/os/users.h"
#include "runtime/records/job_folder.h"
#include "tests/unit/keeper/keeper_fixture.h"

namespace tony {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using std::chrono_literals::operator""ms;

class KeeperRecoveryTest : public KeeperFixture {
 protected:
  bool ReachedAgain() {
    return WaitFor([this] { return Told<SchedulerReached>().size() == 2; });
  }
};

TEST_F(KeeperRecoveryTest, KilledKeeperIsBroughtBackAndAdoptsItsExecutors) {
  const pid_t keeper = StartKeeper();
  BecomeAm({1});
  Launch("1-1", "while ! [ -e go ]; do sleep 0.01; done; exit 3");
  Launch("1-2", "setsid sleep 1000 & sleep 1000");
  ASSERT_TRUE(WaitFor([&] { return Marked("1-2").size() == 3 && Started("1-1"); }));
  const auto before = Marked("1-2");
  KillKeeper(keeper);
  ASSERT_TRUE(ReachedAgain());
  EXPECT_EQ(keepers_started_, 2);
  EXPECT_THAT(Told<SchedulerReached>()[1].running, UnorderedElementsAre(ContainerId{"1-1"}, ContainerId{"1-2"}));
  EXPECT_EQ(Marked("1-2"), before) << "same processes";
  EXPECT_THAT(Told<SchedulerLost>(), IsEmpty());
  EXPECT_EQ(Content("ams"), "1\n") << "the AM lives, so no other is started";
  std::ofstream(records_.place() / "go") << "";
  ASSERT_TRUE(WaitFor([&] { return Exit("1-1"); }));
  EXPECT_FALSE(Exit("1-1")->status) << "not its child: nobody saw how";
  scheduler_->Stop({"1-2"}, StopMode::kTerm);
  ASSERT_TRUE(WaitFor([&] { return Exit("1-2"); }));
  EXPECT_THAT(Marked("1-2"), IsEmpty());
}

TEST_F(KeeperRecoveryTest, ExecutorThatEndedWhileThereWasNoKeeperIsSweptAndTold) {
  const pid_t keeper = StartKeeper();
  BecomeAm({1});
  Launch("1-1", "setsid sleep 1000 & echo $$ >pid; exec sleep 1000");
  Launch("1-2", "exit 6");
  ASSERT_TRUE(WaitFor([&] { return Marked("1-1").size() == 2 && Exit("1-2"); }));
  scheduler_.reset();
  KillKeeper(keeper);
  kill(static_cast<pid_t>(*ParseInt(Trim(Content("pid")))), SIGKILL);
  StartKeeper();
  BecomeAm({1});
  ASSERT_TRUE(WaitFor([&] { return Exit("1-1") && Exit("1-2"); }));
  EXPECT_FALSE(Exit("1-1")->status);
  EXPECT_THAT(Marked("1-1"), IsEmpty());
  EXPECT_EQ(Exit("1-2")->status->value, 6) << "what an earlier keeper saw is not lost";
}

TEST_F(KeeperRecoveryTest, KeeperAndAmDeadTogetherAreReplacedWithoutHarmToExecutors) {
  const pid_t keeper = StartKeeper();
  BecomeAm({1});
  Launch("1-1", "exec sleep 1000");
  ASSERT_TRUE(WaitFor([&] { return Started("1-1"); }));
  scheduler_.reset();
  KillKeeper(keeper);
  KillAm();
  ASSERT_TRUE(WaitFor([&] { return WithEnvironment("TONY_AM=" + records_.job().value).empty(); }));
  StartKeeper();
  ASSERT_TRUE(WaitFor([&] { return Content("ams") == "1\n2\n"; }));
  BecomeAm({2});
  EXPECT_EQ(Told<SchedulerReached>()[0].running, std::vector<ContainerId>{{"1-1"}});
  EXPECT_THAT(Marked("1-1"), SizeIs(1));
}

TEST_F(KeeperRecoveryTest, AmThatSaysNoHelloToTheNewKeeperIsReplaced) {
  SetLimits({"QUICK_KEEPER_ADOPTION=200"});
  const pid_t keeper = StartKeeper();
  const auto old_am = Ams();
  ASSERT_THAT(old_am, SizeIs(1));
  KillKeeper(keeper);
  StartKeeper();
  ASSERT_TRUE(WaitFor([&] { return Content("ams") == "1\n2\n"; }));
  EXPECT_TRUE(WaitFor([&] {
    const auto ams = WithEnvironment("TONY_AM=" + records_.job().value);
    return ams.size() == 1 && ams[0] != old_am[0];
  }));
}

TEST_F(KeeperRecoveryTest, AmThatDiesBeforeItsHelloIsReplacedAtOnce) {
  const pid_t keeper = StartKeeper();
  (void)Ams();
  KillKeeper(keeper);
  StartKeeper();
  KillAm();
  EXPECT_TRUE(WaitFor([&] { return Content("ams") == "1\n2\n"; }));
}

TEST_F(KeeperRecoveryTest, AnEpochThatAPowerCutTookIsKnownFromTheLeaseRecord) {
  ASSERT_TRUE(WriteFileByRename(records_.place() / "epoch", "", /*durable=*/false).ok());
  ASSERT_TRUE(records_.WriteLease({.epoch = {5}, .am = {SocketOf({5})}}).ok());
  StartKeeper();
  ASSERT_TRUE(WaitFor([this] { return !Content("ams").empty(); }));
  EXPECT_EQ(Content("ams"), "6\n");
}

TEST_F(KeeperRecoveryTest, ForkThatWasNotWrittenDownIsFoundByItsMark) {
  const pid_t keeper = StartKeeper();
  BecomeAm({1});
  Launch("1-1", "sleep 1000 & wait");
  ASSERT_TRUE(WaitFor([&] { return Marked("1-1").size() == 2; }));
  scheduler_.reset();
  KillKeeper(keeper);
  std::ofstream(records_.place() / "containers/1-1") << "launching\n";  // as if it had died between fork and writing
  std::ofstream(records_.place() / "containers/1-2") << "launching\n";  // ... and before the fork
  StartKeeper();
  BecomeAm({1});
  EXPECT_EQ(Told<SchedulerReached>()[0].running, std::vector<ContainerId>{{"1-1"}});
  EXPECT_THAT(Marked("1-1"), SizeIs(2));
  ASSERT_TRUE(WaitFor([&] { return Exit("1-2"); }));
  EXPECT_FALSE(Exit("1-2")->status);
  scheduler_->Stop({"1-1"}, StopMode::kKill);
  ASSERT_TRUE(WaitFor([&] { return Exit("1-1"); }));
  EXPECT_THAT(Marked("1-1"), IsEmpty());
}

TEST_F(KeeperRecoveryTest, ReusedPidIsNotTakenForTheExecutor) {
  const pid_t keeper = StartKeeper();
  ASSERT_TRUE(WaitForFile("ams"));
  KillKeeper(keeper);
  std::ofstream(records_.place() / "containers/1-1") << "launching\nstarted " << getpid() << " 1\n";
  StartKeeper();
  BecomeAm({1});
  ASSERT_TRUE(WaitFor([&] { return Exit("1-1"); }));  // and this process lives
}

TEST_F(KeeperRecoveryTest, LaunchesAndStopsSaidWithoutAKeeperAreDoneByTheNext) {
  const pid_t keeper = StartKeeper();
  BecomeAm({1});
  Launch("1-1", "exec sleep 1000");
  ASSERT_TRUE(WaitFor([&] { return Started("1-1"); }));
  KillKeeper(keeper);
  scheduler_->Stop({"1-1"}, StopMode::kKill);
  Launch("1-2", "exit 8");
  ASSERT_TRUE(WaitFor([&] { return Exit("1-1") && Exit("1-2"); }));
  EXPECT_EQ(Exit("1-2")->status->value, 8);
}

// With its mark, descent and session gone, only what it writes to tells whose it is.
TEST_F(KeeperRecoveryTest, DaemonOfAnAdoptedExecutorIsSweptThoughItClearedItsEnvironment) {
  const pid_t keeper = StartKeeper();
  BecomeAm({1});
  Launch("1-1", "setsid env -i /bin/sh -c 'echo $$ >bare; exec sleep 1000' & echo $$ >pid; exec sleep 1000");
  ASSERT_TRUE(WaitFor([&] { return !Content("bare").empty() && !Content("pid").empty(); }));
  const auto bare = static_cast<pid_t>(*ParseInt(Trim(Content("bare"))));
  KillKeeper(keeper);
  ASSERT_TRUE(ReachedAgain());
  EXPECT_EQ(kill(bare, 0), 0) << "its executor lives";
  kill(static_cast<pid_t>(*ParseInt(Trim(Content("pid")))), SIGKILL);
  ASSERT_TRUE(WaitFor([&] { return Exit("1-1"); }));
  for (const auto& process : ListProcesses()) EXPECT_NE(process.pid, bare) << "gone before the end is told";
}

TEST_F(KeeperRecoveryTest, PausedKeeperCostsTheLeaseAndIsReachedAgainAfterwards) {
  const pid_t keeper = StartKeeper();
  BecomeAm({1}, 1500ms);  // not lost by a slow machine before
  Launch("1-1", "exec sleep 1000");
  ASSERT_TRUE(WaitFor([&] { return Started("1-1"); }));
  kill(keeper, SIGSTOP);
  ASSERT_TRUE(WaitFor([&] { return !Told<SchedulerLost>().empty(); }));
  EXPECT_THAT(Told<SchedulerReached>(), SizeIs(1));
  kill(keeper, SIGCONT);
  ASSERT_TRUE(ReachedAgain());
  EXPECT_EQ(Told<SchedulerReached>()[1].running, std::vector<ContainerId>{{"1-1"}});
  EXPECT_EQ(keepers_started_, 1);
  EXPECT_EQ(Content("ams"), "1\n");
}

TEST_F(KeeperRecoveryTest, ManyKilledKeepersLoseNothing) {
  pid_t keeper = StartKeeper();
  BecomeAm({1});
  Launch("1-1", "exec sleep 1000");
  std::vector<pid_t> before;  // not seen while it turns into `sleep`
  ASSERT_TRUE(WaitFor([&] { return Started("1-1") && !(before = Marked("1-1")).empty(); }));
  for (size_t round = 2; round < 6; ++round) {
    KillKeeper(keeper);
    Launch(StrCat("1-", round), StrCat("exit ", round));
    ASSERT_TRUE(WaitFor([&] { return Told<SchedulerReached>().size() == round && Exit(StrCat("1-", round)); }));
    for (const auto& [pid, status] : keepers_)
      if (!status) keeper = pid;
  }
  EXPECT_EQ(Marked("1-1"), before);
  EXPECT_EQ(Content("ams"), "1\n");
}

// ---- a keeper that hangs

TEST_F(KeeperRecoveryTest, OneThatIsStoppedIsSilentAndOneThatGoesOnIsNot) {
  const pid_t keeper = StartKeeper();
  kill(keeper, SIGSTOP);
  ASSERT_TRUE(WaitFor([&] { return ReadStat(keeper)->state == 'T'; }));
  KeeperPulse pulse(records_);
  Instant now = FromMillis(1'000'000);
  const auto silence = [&] { return pulse.Silence(now += std::chrono::seconds(1)); };
  EXPECT_EQ(silence(), Duration(0)) << "it has just been asked";
  EXPECT_EQ(silence(), 1000ms);
  EXPECT_EQ(silence(), 2000ms);
  now += std::chrono::minutes(1);
  EXPECT_EQ(silence(), Duration(0)) << "who was stopped itself has not waited";
  EXPECT_EQ(silence(), 1000ms);
  kill(keeper, SIGCONT);
  EXPECT_TRUE(WaitFor([&] { return pulse.Silence(now) == Duration(0); }));
}

// As the masters that connect to it again and again make of it.
TEST_F(KeeperRecoveryTest, OneWhoseQueueIsFullIsSilentToo) {
  const pid_t keeper = StartKeeper();
  kill(keeper, SIGSTOP);
  std::vector<UniqueFd> others;
  for (auto other = ConnectToKeeper(records_); other.ok(); other = ConnectToKeeper(records_))
    others.push_back(*std::move(other));
  KeeperPulse pulse(records_);
  const Instant now = FromMillis(1'000'000);
  EXPECT_EQ(pulse.Silence(now), Duration(0));
  EXPECT_EQ(pulse.Silence(now + 1000ms), 1000ms);
  kill(keeper, SIGCONT);
  EXPECT_TRUE(WaitFor([&] { return pulse.Silence(now + 1000ms) == Duration(0); }));
}

TEST_F(KeeperRecoveryTest, OneThatIsStoppedIsEndedAndItsLockIsFree) {
  const pid_t keeper = StartKeeper();
  kill(keeper, SIGSTOP);
  ASSERT_TRUE(WaitFor([&] { return ReadStat(keeper)->state == 'T'; }));
  EXPECT_THAT(KeepersOf(records_), ElementsAre(keeper));
  EXPECT_EQ(tony::WhoKeepsWaiting(records_), StrCat("process ", keeper, " (tony-keeper) of ", UserName(geteuid()),
                                                    ", stopped (state T): \"kill -CONT ", keeper, "\" wakes it"));
  EndKeeper(records_);
  EXPECT_TRUE(WaitFor([&] { return keepers_[keeper].has_value(); }));
  EXPECT_FALSE(JobFolder(records_).IsLocked("keeper.lock"));
  EXPECT_THAT(KeepersOf(records_), IsEmpty());
}

}  // namespace
}  // namespace tony
