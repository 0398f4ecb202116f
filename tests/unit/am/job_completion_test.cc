// Roles of which some tasks may fail, or are not needed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "am/core/job.h"
#include "tests/support/job_builder.h"
#include "tests/unit/am/usual_jobs.h"

namespace tony::am {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Batch inference: four shards that do not know each other, of which three suffice, and who collects.
JobBuilder Shards() {
  return JobBuilder().Role("collector", 1).Role("shard", 4).Completes(3).Framework(FrameworkKind::kStandalone);
}

JobDriver Formed(const JobBuilder& builder) {
  JobDriver driver(builder.Build());
  driver.Running();
  return driver;
}

TEST(JobCompletionTest, AFailureThatIsToleratedIsJournalledAndItsExecutorLetGo) {
  JobDriver driver = Formed(Shards());

  const TurnResult turn = driver.Report("shard:2", Failure(3));

  EXPECT_THAT(Decisions(turn), ElementsAre("attempt_ended", "failure_tolerated"));
  EXPECT_EQ(driver.Told("shard:2"), "release");
  EXPECT_EQ(driver.Told("shard:1"), "start 1");
  EXPECT_EQ(driver.Status().state, "RUNNING");
  EXPECT_EQ(driver.Status().tolerated_failures, 1);
}

TEST(JobCompletionTest, OneFailureTooManyFailsTheJobAndTheFirstIsNamed) {
  JobDriver driver = Formed(Shards());
  driver.Report("shard:2", Failure(3));

  driver.Report("shard:0", Failure(4));

  const Verdict& verdict = *driver.job().verdict();
  EXPECT_EQ(verdict.state, FinalState::kFailed);
  EXPECT_EQ(verdict.attempt, AttemptOf("shard:2"));
  EXPECT_EQ(verdict.exit, (ExitStatus{ExitStatus::Kind::kExited, 3}));
  EXPECT_THAT(verdict.message, HasSubstr("2 of 4 tasks of role shard have failed (tony.shard.min-succeeded=3)"));
}

TEST(JobCompletionTest, WhenEnoughHaveSucceededTheRestOfTheRoleIsStoppedAndOthersRunOn) {
  JobDriver driver = Formed(Shards());
  driver.Report("shard:0", Success());
  driver.Report("shard:1", Success());

  const TurnResult turn = driver.Report("shard:3", Success());

  EXPECT_THAT(Decisions(turn), ElementsAre("attempt_ended", "role_finished"));
  EXPECT_EQ(driver.Told("shard:2"), "stop");
  EXPECT_EQ(driver.Told("collector:0"), "start 1");
  EXPECT_DOUBLE_EQ(driver.job().Progress(), 0.8);
  EXPECT_THAT(Decisions(driver.Report("shard:2", Killed())), ElementsAre("attempt_ended"));
  EXPECT_EQ(driver.StateOf("shard:2"), AttemptState::kKilled);
  EXPECT_THAT(driver.StatusOf("shard:2").outcome->message, HasSubstr("3 of 4 tasks of role shard have succeeded"));
  driver.Report("collector:0", Success());
  EXPECT_EQ(driver.job().verdict()->state, FinalState::kSucceeded);
  EXPECT_EQ(driver.job().verdict()->message, "4 of 5 tracked tasks succeeded; 1 was not needed");
  EXPECT_EQ(driver.Status().tolerated_failures, 0);
}

TEST(JobCompletionTest, OfAFinishedRoleNoFailureMattersAndNothingStartsAgain) {
  JobDriver driver = Formed(Shards().Restarts(RestartScope::kTask, 5));
  for (const char* task : {"shard:0", "shard:1", "shard:3"}) driver.Report(task, Success());

  EXPECT_THAT(Decisions(driver.Report("shard:2", Failure(1))), ElementsAre("attempt_ended"));

  EXPECT_EQ(driver.Status().state, "RUNNING");
  EXPECT_EQ(driver.Told("shard:2"), "release");
}

TEST(JobCompletionTest, ATaskThatWaitsForItsRestartIsNotRestartedOnceItsRoleIsFinished) {
  JobDriver driver = Formed(Shards().Restarts(RestartScope::kTask, 5).Backoff(Duration(5000), Duration(5000)));
  driver.Report("shard:2", Failure(1));
  driver.Register("shard:2#2");
  driver.Heartbeat("shard:2#2");
  driver.Report("shard:2#2", Failure(1));  // the second restart waits
  ASSERT_EQ(driver.StatusOf("shard:2").state, "backoff");
  for (const char* task : {"shard:0", "shard:1", "shard:3"}) driver.Report(task, Success());

  EXPECT_EQ(driver.StatusOf("shard:2").state, "done");
  EXPECT_EQ(driver.Told("shard:2#2"), "release");
  EXPECT_THAT(Decisions(driver.Pass(Duration(60'000))), Not(Contains("restart_began")));
}

TEST(JobCompletionTest, WhoHasNoContainerYetIsWithdrawnWhenItsRoleIsFinished) {
  JobDriver driver(JobBuilder().Role("shard", 3).Completes(2).Role("worker", 1).Fcfs().Build());
  driver.Accepted();
  for (const char* task : {"shard:0", "shard:1"}) {
    driver.Grant(task);
    driver.Register(task);
    driver.Heartbeat(task);
  }
  driver.Report("shard:0", Success());

  const TurnResult turn = driver.Report("shard:1", Success());

  EXPECT_THAT(Decisions(turn), ElementsAre("attempt_ended", "role_finished", "attempt_ended"));
  EXPECT_EQ(driver.StatusOf("shard:2").state, "done");
  EXPECT_EQ(driver.Status().state, "RUNNING");
}

TEST(JobCompletionTest, WhoHasNotSpokenYetIsEndedWithItsContainerAndThatIsNoFailure) {
  JobDriver driver(JobBuilder().Role("shard", 2).Completes(1).Role("worker", 1).Fcfs().Build());
  driver.Accepted();
  driver.GrantAll();
  driver.Register("shard:0");
  driver.Heartbeat("shard:0");
  driver.Report("shard:0", Success());

  driver.Exit("shard:1", Outcome{.cls = OutcomeClass::kInfra, .message = "its executor was terminated"});

  EXPECT_EQ(driver.StateOf("shard:1"), AttemptState::kKilled);
  EXPECT_EQ(driver.StatusOf("shard:1").outcome->cls, OutcomeClass::kKilled);
  EXPECT_THAT(driver.StatusOf("shard:1").outcome->message, HasSubstr("1 of 2 tasks of role shard have succeeded"));
}

TEST(JobCompletionTest, AFailureIsToleratedOnlyWhenItsRestartsAreUsedUp) {
  JobDriver driver = Formed(Shards().Restarts(RestartScope::kTask, 1));

  EXPECT_THAT(Decisions(driver.Report("shard:2", Failure(1))), Contains("restart_decided"));
  driver.Register("shard:2#2");
  driver.Heartbeat("shard:2#2");

  EXPECT_THAT(Decisions(driver.Report("shard:2#2", Failure(1))), Contains("failure_tolerated"));
}

TEST(JobCompletionTest, ARestartOfTheGangStartsAgainWhoHadFailedOrWasNotNeeded) {
  JobDriver driver = Formed(JobBuilder()
                                .Role("collector", 1)
                                .Role("shard", 4)
                                .Completes(2)
                                .Framework(FrameworkKind::kStandalone)
                                .LostRestarts(0)
                                .Restarts(RestartScope::kGang, 1));
  driver.Report("shard:2", Outcome{.cls = OutcomeClass::kOom});  // is never restarted
  driver.Report("shard:0", Success());
  driver.Report("shard:1", Success());
  ASSERT_EQ(driver.Told("shard:3"), "stop");
  driver.Report("shard:3", Killed());

  driver.Report("collector:0", Failure(1));

  EXPECT_EQ(driver.Status().tolerated_failures, 0);
  EXPECT_DOUBLE_EQ(driver.job().Progress(), 0);
  for (const char* task : {"shard:0", "shard:1", "shard:2", "shard:3"})
    EXPECT_EQ(driver.StatusOf(task).attempt, 1) << task;
  for (const char* task : {"shard:0", "shard:1", "shard:2", "shard:3"}) driver.Exit(task);
  driver.GrantAll().RegisterAll().RunAll();
  EXPECT_EQ(driver.StatusOf("shard:3").attempt, 2);
  EXPECT_EQ(driver.Told("shard:3#2"), "start 2");
}

TEST(JobCompletionTest, TheLastToleratedFailureCompletesTheJob) {
  JobDriver driver = Formed(JobBuilder().Role("shard", 2).Completes(0, 2).Framework(FrameworkKind::kStandalone));
  driver.Report("shard:0", Success());

  const TurnResult turn = driver.Report("shard:1", Failure(2));

  EXPECT_THAT(Decisions(turn), ElementsAre("attempt_ended", "failure_tolerated", "job_stopping"));
  EXPECT_EQ(driver.job().verdict()->state, FinalState::kSucceeded);
  EXPECT_EQ(driver.job().verdict()->message,
            "1 of 2 tracked tasks succeeded; 1 task failed: shard:1 failed on node-shard-1: exit code 2 (user_error)");
}

TEST(JobCompletionTest, AToleratedFailureOfACollectiveSettlesFirst) {
  JobDriver driver =
      Formed(JobBuilder().Role("worker", 3).Completes(0, 3).Framework(FrameworkKind::kPytorch).Settle(Duration(300)));

  EXPECT_THAT(Decisions(driver.Report("worker:1", Failure(1))), ElementsAre("attempt_ended"));
  EXPECT_THAT(Decisions(driver.Pass(Duration(300))), ElementsAre("failure_tolerated"));

  EXPECT_THAT(Decisions(driver.Pass(Duration(1000))), IsEmpty());
}

TEST(JobCompletionTest, ByTonysRuleAWorkersFailureIsToleratedAndTheChiefsIsNot) {
  JobDriver driver = Formed(JobBuilder().Role("worker", 3).Framework(FrameworkKind::kStandalone).TonysRule());
  EXPECT_THAT(Decisions(driver.Report("worker:1", Failure(1))), Contains("failure_tolerated"));

  driver.Report("worker:0", Failure(2));

  EXPECT_EQ(driver.job().verdict()->attempt, AttemptOf("worker:0"));
  EXPECT_THAT(driver.job().verdict()->message, HasSubstr("; before it worker:1 failed"));
}

TEST(JobCompletionTest, ASidecarMayBeToldToCount) {
  JobDriver driver = Formed(JobBuilder()
                                .Role("board", 1, Completion::kSidecar)
                                .Completes(0, 1)
                                .Role("worker", 1)
                                .Framework(FrameworkKind::kStandalone));

  driver.Report("board:0", Failure(1));

  EXPECT_EQ(driver.job().verdict()->attempt, AttemptOf("board:0"));
}

TEST(JobCompletionTest, ANewMasterKnowsWhoWasToleratedAndWhatIsFinished) {
  JobDriver driver =
      Formed(JobBuilder().Role("collector", 1).Role("shard", 4).Completes(2).Framework(FrameworkKind::kStandalone));
  driver.Report("shard:2", Failure(3));
  driver.Report("shard:0", Success());
  driver.Report("shard:1", Success());

  driver.Replay();
  driver.Start({2});

  EXPECT_EQ(driver.Status().tolerated_failures, 1);
  EXPECT_EQ(driver.Told("shard:3"), "stop");
  driver.Report("shard:3", Killed());
  driver.Report("collector:0", Success());
  EXPECT_THAT(driver.job().verdict()->message, HasSubstr("3 of 5 tracked tasks succeeded; 1 task failed: shard:2"));
}

TEST(JobCompletionTest, BeforeTheGangHasFormedNobodyIsSpared) {
  JobDriver driver(Shards().LostRestarts(0).Build());
  driver.Gathering();

  driver.Exit("shard:2");

  EXPECT_EQ(driver.job().verdict()->attempt, AttemptOf("shard:2"));
}

}  // namespace
}  // namespace tony::am
