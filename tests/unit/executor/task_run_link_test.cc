// Losing the AM and finding it again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/executor/task_run_driver.h"

namespace tony::executor {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(TaskRunLinkTest, AnExecutorThatLostItsAmReadsTheRecordAtOnceAndOnEveryChange) {
  TaskRunDriver task;
  task.RunTask();
  task.LoseAm();
  EXPECT_EQ(task.Count<ReadLease>(), 1);
  ASSERT_EQ(task.Count<WatchLease>(), 1);
  EXPECT_LT(task.IndexOf<WatchLease>(), task.IndexOf<ReadLease>()) << "or a change in between would be missed";
  EXPECT_EQ(task.run.state(), State::kRunning);
}

TEST(TaskRunLinkTest, AnExecutorThatIsUpBeforeItsAmWatchesForIt) {
  TaskRunDriver task;
  EXPECT_EQ(task.Count<WatchLease>(), 0) << "in the usual case the record is there";
  task.Give(LeaseRead{});
  EXPECT_EQ(task.Count<WatchLease>(), 1);
}

TEST(TaskRunLinkTest, ItReadsTheRecordAgainFourTimesASecond) {
  TaskRunDriver task;
  task.RunTask();
  task.LoseAm();
  task.Pass(seconds{10});
  EXPECT_EQ(task.Count<ReadLease>(), 1 + 40);
}

TEST(TaskRunLinkTest, JitterSpreadsTheReadsOfManyExecutors) {
  TaskRunDriver early({}, 0), late({}, 0.99);
  EXPECT_LT(*early.run.NextDeadline(), *late.run.NextDeadline());
}

TEST(TaskRunLinkTest, ItRegistersWithTheNextAmWithAllItKnows) {
  TaskRunDriver task;
  task.RunTask();
  task.LoseAm();
  task.Give(LeaseRead{LeaseOf(2, 7002)});
  EXPECT_EQ(PortOf(task.Last<UseAm>()), 7002);
  const auto call = task.Last<SendRegister>();
  EXPECT_EQ(call.what.phase, Phase::kRunning);
  EXPECT_EQ(call.what.pid, 4242);
  EXPECT_EQ(call.caller.epoch, Epoch{2});
  EXPECT_EQ(call.caller.generation, Generation{1});
  task.Give(Registered{task.link, {2}});
  EXPECT_EQ(task.Last<SendAwait>().since, 10) << "what was carried out is not done again";
  EXPECT_EQ(task.Count<UnwatchLease>(), 1);
  EXPECT_EQ(task.run.state(), State::kRunning);
}

TEST(TaskRunLinkTest, TheSameAmIsTriedAgainWithABackOffUpToASecond) {
  TaskRunDriver task;
  task.RunTask();
  task.LoseAm();
  std::vector<int64_t> tries;
  for (int step = 0; step < 200; ++step) {
    const int before = task.Count<UseAm>();
    task.Give(LeaseRead{LeaseOf(1)});
    if (task.Count<UseAm>() > before) {
      tries.push_back(ToMillis(task.now) - 1'000'000);
      task.LoseAm();
    }
    task.Pass(milliseconds{50});
  }
  ASSERT_GE(tries.size(), 8u);
  EXPECT_EQ(tries[0], 0) << "the connection may have been all that broke";
  EXPECT_LE(tries[1], 150);
  for (size_t i = 5; i < tries.size(); ++i) EXPECT_EQ(tries[i] - tries[i - 1], 1000);
}

TEST(TaskRunLinkTest, ANewAmIsTriedAtOnceWhateverTheBackOff) {
  TaskRunDriver task;
  task.RunTask();
  task.LoseAm();
  task.Give(LeaseRead{LeaseOf(1)});
  task.LoseAm();
  task.Give(LeaseRead{LeaseOf(1)});
  EXPECT_EQ(task.Count<UseAm>(), 1);
  task.Give(LeaseRead{LeaseOf(2)});
  EXPECT_EQ(task.Count<UseAm>(), 2) << "a newer epoch";
  task.LoseAm();
  task.Give(LeaseRead{LeaseOf(2, 7009)});
  EXPECT_EQ(task.Count<UseAm>(), 3) << "another address";
}

TEST(TaskRunLinkTest, ANewerRecordInterruptsATryThatHangs) {
  TaskRunDriver task;
  task.RunTask();
  task.LoseAm();
  task.Give(LeaseRead{LeaseOf(1)});
  task.Give(LeaseRead{LeaseOf(2, 7002)});
  EXPECT_EQ(PortOf(task.Last<UseAm>()), 7002);
}

TEST(TaskRunLinkTest, WhileTheStoreCannotBeReadTheLastAmIsTried) {
  TaskRunDriver task;
  task.RunTask();
  task.LoseAm();
  task.Give(LeaseUnreadable{});
  EXPECT_EQ(PortOf(task.Last<UseAm>()), 7001);
}

TEST(TaskRunLinkTest, AnswersOfAnEarlierLinkAreIgnored) {
  TaskRunDriver task;
  task.RunTask();
  const int64_t old_link = task.link;
  task.LoseAm();
  task.Give(LeaseRead{LeaseOf(2)});
  task.actions.clear();
  task.Give(CommandReceived{old_link, {.number = 99, .kind = Command::Kind::kStop}});
  task.Give(Registered{old_link, {1}});
  task.Give(HeartbeatAnswered{old_link});
  task.Give(Refused{old_link, RefusalReason::kStaleAttempt});
  task.Give(ConnectionLost{old_link});
  EXPECT_THAT(task.actions, IsEmpty());
  EXPECT_EQ(task.run.link(), Link::kRegistering);
  EXPECT_EQ(task.run.state(), State::kRunning);
}

TEST(TaskRunLinkTest, SeveralCallsThatEndWithOneConnectionAreOneLoss) {
  TaskRunDriver task;
  task.RunTask();
  task.LoseAm();
  task.LoseAm();
  task.LoseAm();
  EXPECT_EQ(task.Count<ReadLease>(), 1);
}

TEST(TaskRunLinkTest, AnAmOfAnOlderEpochIsNotObeyed) {
  TaskRunDriver task;
  task.Register(5);
  task.LoseAm();
  task.actions.clear();
  task.Give(LeaseRead{LeaseOf(4, 7004)});
  EXPECT_EQ(task.Count<UseAm>(), 0) << "an old record";
  task.Give(LeaseRead{LeaseOf(5, 7005)});
  task.Give(Registered{task.link, {4}});
  EXPECT_EQ(task.run.link(), Link::kSearching) << "an old AM";
  EXPECT_EQ(task.Count<SendAwait>(), 0);
}

TEST(TaskRunLinkTest, AnAmThatDoesNotRuleIsALostOne) {
  for (const auto reason : {RefusalReason::kNotRuling, RefusalReason::kStaleEpoch, RefusalReason::kBadRequest}) {
    TaskRunDriver task;
    task.RunTask();
    task.Give(Refused{task.link, reason});
    EXPECT_EQ(task.run.link(), Link::kSearching);
    EXPECT_EQ(task.run.state(), State::kRunning);
    EXPECT_EQ(task.Count<ReadLease>(), 1);
  }
}

TEST(TaskRunLinkTest, AnOutcomeIsReportedToEveryAmUntilOneReleases) {
  TaskRunDriver task;
  task.RunTask();
  task.LoseAm();
  task.Exit(ExitCode(3), "boom");
  task.Give(TreeGone{});
  EXPECT_EQ(task.Count<KeepOutcome>(), 1);
  EXPECT_EQ(task.Count<SendOutcome>(), 0) << "there is nobody to report to";
  task.Register(2);
  ASSERT_EQ(task.Count<SendOutcome>(), 1);
  task.LoseAm();
  task.Register(3);
  ASSERT_EQ(task.Count<SendOutcome>(), 2);
  EXPECT_EQ(task.Last<SendOutcome>().outcome.stderr_tail, "boom");
  EXPECT_EQ(task.Last<SendRegister>().what.phase, Phase::kEnded);
  EXPECT_EQ(task.Count<KeepOutcome>(), 1);
}

TEST(TaskRunLinkTest, APhaseThatChangedDuringTheRegistrationIsToldAfterIt) {
  TaskRunDriver task;
  task.RunTask();
  task.LoseAm();
  task.Give(LeaseRead{LeaseOf(2)});
  task.Give(TermSignal{});
  task.Give(Registered{task.link, {2}});
  EXPECT_EQ(task.Last<SendHeartbeat>().progress.phase, Phase::kStopping);
}

}  // namespace
}  // namespace tony::executor
