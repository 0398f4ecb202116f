// Silence: an executor that is not heard is first suspected, then given up, and its container ended.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "am/core/job.h"
#include "tests/support/job_builder.h"

namespace tony::am {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Duration kSuspectAfter{5000};
constexpr Duration kLostAfter{60000};
constexpr Duration kGiveUpAfter{15000};  // of a container whose end was ordered and that nobody says is gone
constexpr Duration kMoment{1};

JobSpec TwoWatched() {
  return JobBuilder()
      .Role("worker", 2)
      .With({.suspect_after = kSuspectAfter, .lost_after = kLostAfter})
      .RegistrationTimeout(std::chrono::hours(24))
      .NoRestarts()
      .Build();
}

TEST(JobLivenessTest, ASilentExecutorIsSuspectedAndNothingElseHappens) {
  JobDriver driver(TwoWatched());
  driver.Running();
  driver.Wait(Duration(1000));
  driver.Heartbeat("worker:1");
  EXPECT_THAT(Decisions(driver.Pass(kSuspectAfter - Duration(1000) - kMoment)), IsEmpty());

  const TurnResult turn = driver.Pass(kMoment);

  EXPECT_THAT(Decisions(turn), ElementsAre("attempt_suspected"));
  EXPECT_THAT(Orders(turn), IsEmpty());
  EXPECT_TRUE(driver.StatusOf("worker:0").suspect);
  EXPECT_FALSE(driver.StatusOf("worker:1").suspect);
  EXPECT_EQ(driver.StatusOf("worker:0").attempt_state, "running");
}

TEST(JobLivenessTest, EveryCallIsASignOfLife) {
  JobDriver driver(TwoWatched());
  driver.Running();
  driver.Wait(kSuspectAfter - kMoment);
  driver.Heartbeat("worker:0");
  driver.Await("worker:1");

  EXPECT_THAT(Decisions(driver.Pass(kSuspectAfter - kMoment)), IsEmpty());
}

TEST(JobLivenessTest, ASuspectThatIsHeardAgainIsCleared) {
  JobDriver driver(TwoWatched());
  driver.Running();
  driver.Pass(kSuspectAfter);
  ASSERT_TRUE(driver.StatusOf("worker:0").suspect);

  const TurnResult turn = driver.Heartbeat("worker:0");

  EXPECT_THAT(Decisions(turn), ElementsAre("attempt_heard"));
  EXPECT_FALSE(driver.StatusOf("worker:0").suspect);
}

TEST(JobLivenessTest, ASuspectsReportIsTaken) {
  JobDriver driver(TwoWatched());
  driver.Running();
  driver.Pass(kSuspectAfter);

  const TurnResult turn = driver.Report("worker:0", Success());

  EXPECT_THAT(Decisions(turn), ElementsAre("attempt_heard", "attempt_ended"));
  EXPECT_FALSE(driver.StatusOf("worker:0").suspect);
}

TEST(JobLivenessTest, ACallThatIsRefusedClearsNobody) {
  JobDriver driver(TwoWatched());
  driver.Running();
  driver.Pass(kSuspectAfter);
  Caller impostor = driver.CallerOf("worker:0");
  impostor.container = {"another"};

  const TurnResult turn = driver.Observe(HeartbeatCall{impostor, {Phase::kRunning, 100}});

  EXPECT_THAT(Decisions(turn), IsEmpty());
  EXPECT_TRUE(driver.StatusOf("worker:0").suspect);
  EXPECT_EQ(driver.job().NextDeadline(), driver.now()) << "it looks once more";
}

// Until worker:0 has been silent for too long; worker:1 is heard all along.
TurnResult FallSilent(JobDriver& driver) {
  driver.Running();
  driver.Pass(kSuspectAfter);
  driver.Heartbeat("worker:1");
  driver.Wait(kLostAfter - kSuspectAfter);
  driver.Heartbeat("worker:1");
  return driver.Pass(Duration(0));
}

TurnResult GiveUp(JobDriver& driver) {
  driver.Wait(kGiveUpAfter - kMoment);
  driver.Heartbeat("worker:1");
  EXPECT_THAT(Decisions(driver.Pass(Duration(0))), IsEmpty());
  return driver.Pass(kMoment);
}

TEST(JobLivenessTest, AfterALongSilenceTheContainerIsEndedBeforeAnythingIsSaidOfTheAttempt) {
  JobDriver driver(TwoWatched());

  const TurnResult turn = FallSilent(driver);

  EXPECT_THAT(Decisions(turn), ElementsAre("container_kill_ordered"));
  EXPECT_THAT(Orders(turn), ElementsAre("kill c-worker-0"));
  EXPECT_EQ(driver.StatusOf("worker:0").attempt_state, "running");
  EXPECT_FALSE(driver.job().verdict());
}

TEST(JobLivenessTest, ASilentAttemptIsLostWhenItsContainerIsGone) {
  JobDriver driver(TwoWatched());
  FallSilent(driver);

  const TurnResult turn = driver.Exit("worker:0");

  EXPECT_THAT(Decisions(turn), ElementsAre("attempt_ended", "container_ended", "job_stopping"));
  EXPECT_EQ(driver.StatusOf("worker:0").attempt_state, "lost");
  EXPECT_FALSE(driver.StatusOf("worker:0").suspect);
  EXPECT_EQ(driver.job().verdict()->cls, OutcomeClass::kNodeLost);
  EXPECT_EQ(driver.job().verdict()->attempt, AttemptOf("worker:0"));
  EXPECT_THAT(driver.job().verdict()->message, HasSubstr("no heartbeat for 60.0 s"));
}

TEST(JobLivenessTest, TheOutcomeThatASilentExecutorKeptCounts) {
  JobDriver failed(TwoWatched()), succeeded(TwoWatched());
  FallSilent(failed);
  FallSilent(succeeded);

  failed.Exit("worker:0", Failure(3));
  succeeded.Exit("worker:0", Success());

  EXPECT_EQ(failed.job().verdict()->exit, Failure(3).exit);
  EXPECT_FALSE(succeeded.job().verdict());
  EXPECT_EQ(succeeded.StatusOf("worker:0").attempt_state, "succeeded");
}

TEST(JobLivenessTest, WhenNobodySaysThatTheContainerIsGoneTheAttemptIsGivenUp) {
  JobDriver driver(TwoWatched());
  FallSilent(driver);

  const TurnResult turn = GiveUp(driver);

  EXPECT_THAT(Decisions(turn), ElementsAre("attempt_ended", "job_stopping"));
  EXPECT_EQ(driver.StatusOf("worker:0").attempt_state, "lost");
  EXPECT_EQ(driver.job().verdict()->cls, OutcomeClass::kNodeLost);
  EXPECT_THAT(driver.job().verdict()->message, HasSubstr("nobody can say that it ended"));
}

// What should end it has not reached it, and it believes in its master until that is silent for long.
TEST(JobLivenessTest, OneThatIsHeardMeanwhileIsNotGivenUpBeforeItHasBeenSilentAgain) {
  JobDriver driver(TwoWatched());
  FallSilent(driver);
  driver.Wait(kGiveUpAfter - kMoment);
  driver.Await("worker:0");
  driver.Wait(kLostAfter - kMoment);
  driver.Heartbeat("worker:1");
  EXPECT_THAT(Decisions(driver.Pass(Duration(0))), IsEmpty());

  EXPECT_THAT(Decisions(driver.Pass(kMoment)), ElementsAre("attempt_ended", "job_stopping"));
}

TEST(JobLivenessTest, ANewMasterGivesTheSchedulerTheWholeTimeAgain) {
  JobDriver driver(TwoWatched());
  FallSilent(driver);
  driver.WaitWithoutRenewal(kGiveUpAfter * 2);
  driver.Replay();

  const TurnResult turn = driver.Start({2});

  EXPECT_THAT(Decisions(turn), ElementsAre("epoch_began"));
  EXPECT_THAT(Orders(turn), ElementsAre("kill c-worker-0"));
  driver.Wait(kGiveUpAfter - kMoment);
  driver.Heartbeat("worker:1");
  EXPECT_THAT(Decisions(driver.Pass(Duration(0))), IsEmpty());
  EXPECT_THAT(Decisions(driver.Pass(kMoment)), ElementsAre("attempt_ended", "job_stopping"));
}

TEST(JobLivenessTest, AKillWhileASilentContainerIsBeingEndedWaitsForThat) {
  JobDriver driver(TwoWatched());
  FallSilent(driver);
  driver.Kill("enough");
  driver.Report("worker:1", Killed());
  driver.Exit("worker:1");
  EXPECT_EQ(driver.Status().state, "STOPPING");

  driver.Exit("worker:0");

  EXPECT_EQ(driver.Status().state, "KILLED");
  EXPECT_EQ(driver.StatusOf("worker:0").attempt_state, "killed");
}

TEST(JobLivenessTest, AReportOfASilentAttemptThatComesBeforeItsEndCounts) {
  JobDriver driver(TwoWatched());
  FallSilent(driver);

  EXPECT_THAT(Decisions(driver.Report("worker:0", Success())), ElementsAre("attempt_heard", "attempt_ended"));
  EXPECT_THAT(Decisions(driver.Exit("worker:0")), ElementsAre("container_ended"));

  EXPECT_FALSE(driver.job().verdict());
}

TEST(JobLivenessTest, ALostAttemptThatStillWorksIsRefusedSoThatItEnds) {
  JobDriver driver(TwoWatched());
  FallSilent(driver);
  GiveUp(driver);
  ASSERT_EQ(driver.StateOf("worker:0"), AttemptState::kLost);

  const TurnResult heartbeat = driver.Heartbeat("worker:0");
  const TurnResult registration = driver.Register("worker:0", Phase::kRunning, 100);

  ASSERT_TRUE(heartbeat.refusal);
  EXPECT_EQ(heartbeat.refusal->reason, RefusalReason::kStaleAttempt);
  ASSERT_TRUE(registration.refusal);
  EXPECT_EQ(registration.refusal->reason, RefusalReason::kStaleAttempt);
  EXPECT_THAT(Decisions(registration), IsEmpty());
}

TEST(JobLivenessTest, ALostAttemptsLateOutcomeIsAcknowledgedAndChangesNothing) {
  JobDriver driver(TwoWatched());
  FallSilent(driver);
  GiveUp(driver);
  const Verdict verdict = *driver.job().verdict();

  const TurnResult registration = driver.Register("worker:0", Phase::kEnded, 0);
  const TurnResult report = driver.Report("worker:0", Success());

  EXPECT_FALSE(registration.refusal);
  EXPECT_FALSE(report.refusal);
  EXPECT_THAT(Decisions(report), IsEmpty());
  EXPECT_EQ(driver.CommandFor("worker:0").kind, Command::Kind::kRelease);
  EXPECT_EQ(*driver.job().verdict(), verdict);
}

TEST(JobLivenessTest, ARegisteredExecutorIsWatchedBeforeItsTaskRuns) {
  JobDriver driver(TwoWatched());
  driver.Gathering();
  driver.Register("worker:0");

  EXPECT_EQ(driver.job().NextDeadline(), driver.now() + kSuspectAfter);
  EXPECT_THAT(Decisions(driver.PassToDeadline()), ElementsAre("attempt_suspected"));
}

TEST(JobLivenessTest, WhoHasNotRegisteredIsNotWatched) {
  JobDriver driver(TwoWatched());
  driver.Gathering();
  driver.ConfirmLaunch("worker:0");

  EXPECT_THAT(Decisions(driver.Pass(kLostAfter)), IsEmpty());
}

TEST(JobLivenessTest, WhoHasBeenToldToStopIsMeasuredByTheGraceNotByHeartbeats) {
  JobDriver driver(TwoWatched());
  driver.Running();
  driver.Kill("slowly", std::chrono::hours(1));

  EXPECT_THAT(Decisions(driver.Pass(kLostAfter)), IsEmpty());
  EXPECT_GT(*driver.job().NextDeadline(), driver.now());
}

TEST(JobLivenessTest, ANewMasterStartsCountingAnew) {
  JobDriver driver(TwoWatched());
  driver.Running();
  driver.Wait(kLostAfter * 2);
  driver.Replay();
  driver.Start({2});

  const TurnResult turn = driver.Pass(kSuspectAfter - kMoment);

  EXPECT_THAT(Decisions(turn), IsEmpty());
  EXPECT_THAT(Decisions(driver.Pass(kMoment)), ElementsAre("attempt_suspected", "attempt_suspected"));
}

// Executors could not know that it ruled; that they were not heard is its own fault.
TEST(JobLivenessTest, AMasterThatDidNotRenewCallsNobodySilent) {
  JobDriver driver(TwoWatched());
  driver.Running();
  driver.WaitWithoutRenewal(kLostAfter * 2);
  EXPECT_THAT(Decisions(driver.Pass(Duration(0))), IsEmpty());

  driver.Wait(kMoment);  // renewed again: the silence begins here
  EXPECT_THAT(Decisions(driver.Pass(kSuspectAfter - kMoment)), IsEmpty());
  EXPECT_THAT(Decisions(driver.Pass(kMoment)), ElementsAre("attempt_suspected", "attempt_suspected"));
}

TEST(JobLivenessTest, ASuspicionIsRememberedByTheNextMasterAndTheSilenceCountedAnew) {
  JobDriver driver(TwoWatched());
  driver.Running();
  driver.Pass(kSuspectAfter);
  driver.Replay();
  driver.Start({2});

  EXPECT_TRUE(driver.StatusOf("worker:0").suspect);
  driver.Heartbeat("worker:1");
  driver.Wait(kLostAfter - kMoment);
  driver.Heartbeat("worker:1");
  EXPECT_THAT(Decisions(driver.Pass(Duration(0))), IsEmpty());
  EXPECT_THAT(Decisions(driver.Pass(kMoment)), ElementsAre("container_kill_ordered"));
}

// ---- where the scheduler sees each process

// What the keeper says of a container whose process it cannot end.
ContainerEvent LeftBy(std::string_view task, std::optional<Outcome> kept = std::nullopt) {
  ContainerExited exited{ContainerOf(task), std::nullopt, "process 7 (sleep) of root cannot be ended by alice"};
  if (kept) exited.kept = KeptOutcome{AttemptOf(task), *std::move(kept)};
  exited.left = true;
  return {exited};
}

JobDriver ConfirmedGang(JobSpec spec) {
  JobDriver driver(std::move(spec));
  driver.Observe(AmStarted{{1}, {}, false, /*ends_are_confirmed=*/true});
  driver.GrantAll().RegisterAll().RunAll();
  return driver;
}

TEST(JobLivenessTest, WhereEndsAreConfirmedSilenceAloneGivesNobodyUp) {
  JobDriver driver = ConfirmedGang(TwoWatched());
  driver.Pass(kSuspectAfter);
  EXPECT_THAT(Orders(driver.Pass(kLostAfter - kSuspectAfter)), Contains("kill c-worker-0"));

  EXPECT_THAT(Decisions(driver.Pass(kLostAfter + kGiveUpAfter)), testing::Not(Contains("attempt_ended")));

  EXPECT_THAT(Decisions(driver.Exit("worker:0")), Contains("attempt_ended"));
}

TEST(JobLivenessTest, NothingBeginsBesideAProcessThatCannotBeEnded) {
  JobDriver driver = ConfirmedGang(JobBuilder().Role("worker", 2).Restarts(RestartScope::kGang, 3).Build());

  driver.Observe(LeftBy("worker:0", Failure(3)));

  ASSERT_TRUE(driver.job().verdict());
  EXPECT_EQ(driver.job().verdict()->cls, OutcomeClass::kUserError);
  EXPECT_EQ(driver.job().verdict()->exit, (ExitStatus{ExitStatus::Kind::kExited, 3})) << "its exit code is not lost";
  EXPECT_THAT(driver.StatusOf("worker:0").outcome->message, HasSubstr("process 7 (sleep) of root"));
}

TEST(JobLivenessTest, ARestartThatWouldBeginBesideOneEndsTheJob) {
  JobDriver driver = ConfirmedGang(JobBuilder().Role("worker", 2).Restarts(RestartScope::kGang, 3).Build());
  driver.Report("worker:0", Failure(1));
  ASSERT_FALSE(driver.job().verdict());

  driver.Observe(LeftBy("worker:1"));

  ASSERT_TRUE(driver.job().verdict());
  EXPECT_EQ(driver.job().verdict()->cls, OutcomeClass::kInfra);
  EXPECT_EQ(driver.job().verdict()->message,
            "worker:1 cannot start again: process 7 (sleep) of root cannot be ended by alice");
}

TEST(JobLivenessTest, ASuccessIsOneWhateverItLeaves) {
  JobDriver driver = ConfirmedGang(JobBuilder().Role("worker", 2).Restarts(RestartScope::kGang, 3).Build());

  driver.Observe(LeftBy("worker:0", Success()));

  EXPECT_FALSE(driver.job().verdict());
  EXPECT_TRUE(driver.StatusOf("worker:0").outcome->Succeeded());
}

}  // namespace
}  // namespace tony::am
