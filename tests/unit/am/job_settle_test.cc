// When one member of a collective dies, the others fail of it, and may be heard first. A failure that would end the
// job waits a moment for the one that explains it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "am/core/job.h"
#include "am/core/judgement.h"
#include "tests/support/job_builder.h"
#include "tests/unit/am/usual_jobs.h"

namespace tony::am {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr Duration kSettle{300};

JobBuilder Settling() { return JobBuilder().Role("worker", 3).Framework(FrameworkKind::kPytorch).Settle(kSettle); }

JobDriver Running(const JobSpec& spec) {
  JobDriver driver(spec);
  driver.Running();
  return driver;
}

TEST(JobSettleTest, AFailureThatNothingPaysForIsJudgedWhenItHasSettled) {
  JobDriver driver = Running(Settling().Build());

  EXPECT_THAT(Decisions(driver.Report("worker:1", Failure(1))), ElementsAre("attempt_ended"));
  EXPECT_EQ(driver.Told("worker:1"), "none");
  EXPECT_EQ(driver.Told("worker:0"), "start 1");
  EXPECT_EQ(driver.job().NextDeadline(), driver.now() + kSettle);
  EXPECT_THAT(Decisions(driver.Pass(kSettle - Duration(1))), IsEmpty());
  const TurnResult turn = driver.Pass(Duration(1));

  EXPECT_THAT(Decisions(turn), ElementsAre("job_stopping"));
  EXPECT_EQ(driver.job().verdict()->attempt, AttemptOf("worker:1"));
  EXPECT_EQ(driver.job().verdict()->cls, OutcomeClass::kUserError);
  EXPECT_EQ(driver.Told("worker:1"), "release");
  EXPECT_EQ(driver.Told("worker:0"), "stop");
}

TEST(JobSettleTest, OfSeveralFailuresTheFirstIsTheVerdict) {
  JobDriver driver = Running(Settling().Build());
  driver.Report("worker:1", Failure(1));
  driver.Wait(Duration(100));
  driver.Report("worker:0", Failure(2));

  driver.PassToDeadline();

  EXPECT_EQ(driver.job().verdict()->attempt, AttemptOf("worker:1"));
}

TEST(JobSettleTest, ALostMemberHeardMeanwhileExplainsItAndTheGangRestartsFree) {
  JobDriver driver = Running(Settling().Build());
  driver.Report("worker:1", Failure(1));
  driver.Wait(kSettle - Duration(1));

  const TurnResult turn = driver.Exit("worker:0");

  EXPECT_THAT(Decisions(turn), ElementsAre("attempt_ended", "container_ended", "restart_decided"));
  const auto* decided = Find<RestartDecided>(turn);
  ASSERT_TRUE(decided);
  EXPECT_FALSE(decided->charged);
  EXPECT_EQ(decided->scope, kGang);
  EXPECT_EQ(decided->cause, AttemptOf("worker:0"));
  driver.Report("worker:2", Killed());
  EXPECT_EQ(driver.Told("worker:1"), "next 2") << "it stayed";
  EXPECT_EQ(driver.Told("worker:0"), "release");
  driver.GrantAll().RegisterAll();
  EXPECT_EQ(driver.Told("worker:1#2"), "start 2");
  EXPECT_FALSE(driver.job().verdict());
}

TEST(JobSettleTest, WhatHasABudgetRestartsAtOnce) {
  JobDriver driver = Running(Settling().Restarts(kGang, 1).Build());

  EXPECT_THAT(Decisions(driver.Report("worker:1", Failure(1))), ElementsAre("attempt_ended", "restart_decided"));
}

TEST(JobSettleTest, WhatNoRestartCouldHelpIsJudgedAtOnce) {
  JobDriver driver = Running(Settling().Build());

  EXPECT_THAT(Decisions(driver.Report("worker:1", {.cls = OutcomeClass::kOom})),
              ElementsAre("attempt_ended", "job_stopping"));
}

TEST(JobSettleTest, ATaskAloneIsJudgedAtOnce) {
  JobDriver driver = Running(JobBuilder().Role("worker", 1).Framework(FrameworkKind::kPytorch).Settle(kSettle).Build());

  EXPECT_THAT(Decisions(driver.Report("worker:0", Failure(1))), ElementsAre("attempt_ended", "job_stopping"));
}

TEST(JobSettleTest, TheLastOfACollectiveIsJudgedAtOnce) {
  JobDriver driver = Running(Settling().Build());
  driver.Report("worker:0", Success());
  driver.Report("worker:1", Success());

  EXPECT_THAT(Decisions(driver.Report("worker:2", Failure(1))), ElementsAre("attempt_ended", "job_stopping"));
}

TEST(JobSettleTest, WhenNobodyIsLeftToExplainItItIsJudged) {
  JobDriver driver = Running(Settling().Build());
  driver.Report("worker:0", Failure(1));
  driver.Report("worker:1", Failure(2));

  EXPECT_THAT(Decisions(driver.Report("worker:2", Failure(3))), ElementsAre("attempt_ended", "job_stopping"));
  EXPECT_TRUE(driver.job().verdict());
}

TEST(JobSettleTest, TasksThatNobodyIsConnectedToAreJudgedAtOnce) {
  JobDriver driver = Running(Settling().Framework(FrameworkKind::kStandalone).Build());

  EXPECT_THAT(Decisions(driver.Report("worker:0", Failure(1))), ElementsAre("attempt_ended", "job_stopping"));
}

TEST(JobSettleTest, AKillInBetweenIsTheVerdict) {
  JobDriver driver = Running(Settling().Build());
  driver.Report("worker:1", Failure(1));

  EXPECT_THAT(Decisions(driver.Kill("enough")), ElementsAre("job_stopping"));

  EXPECT_EQ(driver.job().verdict()->state, FinalState::kKilled);
  EXPECT_EQ(driver.Told("worker:1"), "release");
}

TEST(JobSettleTest, ANewMasterJudgesAtTheSameTime) {
  JobDriver driver = Running(Settling().Build());
  driver.Report("worker:1", Failure(1));
  driver.WaitWithoutRenewal(kSettle - Duration(1));
  driver.Replay();

  EXPECT_THAT(Decisions(driver.Start({2})), ElementsAre("epoch_began"));
  EXPECT_EQ(driver.Told("worker:1"), "none");
  EXPECT_THAT(Decisions(driver.Pass(Duration(1))), ElementsAre("job_stopping"));
  EXPECT_EQ(driver.job().verdict()->attempt, AttemptOf("worker:1"));
}

TEST(JobSettleTest, ANewMasterThatComesLateJudgesAtOnce) {
  JobDriver driver = Running(Settling().Build());
  driver.Report("worker:1", Failure(1));
  driver.WaitWithoutRenewal(kSettle);
  driver.Replay();

  EXPECT_THAT(Decisions(driver.Start({2})), ElementsAre("epoch_began", "job_stopping"));
}

// What a task says whose connection to another one broke.
Outcome LostPeer(const std::string& message = "Connection closed by peer") {
  Outcome outcome = Failure(1);
  outcome.message = message;
  outcome.source = Source::kPeer;
  return outcome;
}

std::string MessageOf(const JobDriver& driver) { return driver.job().verdict().value_or(Verdict{}).message; }

TEST(JobSettleTest, AFailureOfAnothersMakingWaitsTenTimesAsLong) {
  JobDriver driver = Running(Settling().Build());

  EXPECT_THAT(Decisions(driver.Report("worker:0", LostPeer())), ElementsAre("attempt_ended"));

  EXPECT_EQ(driver.job().NextDeadline(), driver.now() + 10 * kSettle);
  EXPECT_THAT(Decisions(driver.PassToDeadline()), ElementsAre("job_stopping"));
  EXPECT_EQ(driver.job().verdict()->attempt, AttemptOf("worker:0")) << "nobody else failed";
}

TEST(JobSettleTest, AFailureOfAnothersMakingGivesWayToOneThatComesLater) {
  JobDriver driver = Running(Settling().Build());
  driver.Report("worker:0", LostPeer());
  driver.Wait(8 * kSettle);
  driver.Report("worker:2", Failure(3));

  EXPECT_EQ(driver.job().NextDeadline(), driver.now() + kSettle);
  EXPECT_THAT(Decisions(driver.PassToDeadline()), ElementsAre("job_stopping"));

  EXPECT_EQ(driver.job().verdict()->attempt, AttemptOf("worker:2"));
}

TEST(JobSettleTest, AFailureOfAnothersMakingGivesWayAlsoWhenItIsDueFirst) {
  JobDriver driver = Running(Settling().Build());
  driver.Report("worker:0", LostPeer());
  driver.Wait(10 * kSettle - Duration(100));
  driver.Report("worker:2", Failure(3));

  driver.Pass(Duration(100));

  EXPECT_EQ(driver.job().verdict()->attempt, AttemptOf("worker:2"));
}

TEST(JobSettleTest, AFailureOfAnothersMakingGivesWayToWhatNoRestartCouldHelp) {
  JobDriver driver = Running(Settling().Build());
  driver.Report("worker:0", LostPeer());

  driver.Report("worker:2", {.cls = OutcomeClass::kOom});

  EXPECT_EQ(driver.job().verdict()->attempt, AttemptOf("worker:2"));
}

TEST(JobSettleTest, ARestartThatIsPaidForNamesTheBetterCauseToo) {
  JobDriver driver = Running(Settling().Restarts(kGang, 1).Build());
  EXPECT_THAT(Decisions(driver.Report("worker:0", LostPeer())), ElementsAre("attempt_ended"));

  const TurnResult turn = driver.Report("worker:2", Failure(3));

  ASSERT_TRUE(Find<RestartDecided>(turn));
  EXPECT_EQ(Find<RestartDecided>(turn)->cause, AttemptOf("worker:2"));
}

TEST(JobSettleTest, AFailureOfAnothersMakingThatIsFreeWaitsToo) {
  JobDriver driver = Running(Settling().Build());
  Outcome free = LostPeer();
  free.advice = Advice::kTransient;

  EXPECT_THAT(Decisions(driver.Report("worker:0", free)), ElementsAre("attempt_ended"));
  EXPECT_THAT(Decisions(driver.PassToDeadline()), Contains("restart_decided"));
}

TEST(JobSettleTest, TheLastOfAllThatFailGivesWayToTheFirstOfItsOwnMaking) {
  JobDriver driver = Running(Settling().Build());
  driver.Report("worker:0", LostPeer());
  driver.Report("worker:1", Failure(3));

  driver.Report("worker:2", LostPeer());

  EXPECT_EQ(driver.job().verdict()->attempt, AttemptOf("worker:1"));
}

TEST(JobSettleTest, ManyFailuresOfAnothersMakingWaitForTheFirstOfThem) {
  JobDriver driver = Running(JobBuilder().Role("worker", 5).Framework(FrameworkKind::kPytorch).Settle(kSettle).Build());
  for (const char* task : {"worker:3", "worker:0", "worker:1"}) {
    driver.Report(task, LostPeer());
    driver.Wait(Duration(10));
  }

  driver.PassToDeadline();

  EXPECT_EQ(driver.job().verdict()->attempt, AttemptOf("worker:3"));
}

TEST(JobSettleTest, WhereAllFailOfAnothersMakingTheFirstOfThemIsTheVerdict) {
  JobDriver driver = Running(Settling().Build());
  for (const char* task : {"worker:1", "worker:0", "worker:2"}) {
    driver.Report(task, LostPeer());
    driver.Wait(Duration(10));
  }

  EXPECT_EQ(driver.job().verdict().value_or(Verdict{}).attempt, AttemptOf("worker:1"));
}

TEST(JobSettleTest, ASidecarThatLosesItsConnectionHurriesNobodysJudgement) {
  JobDriver driver = Running(Settling().Role("board", 1, Completion::kSidecar).Build());
  driver.Report("worker:0", LostPeer());

  driver.Report("board:0", LostPeer());

  EXPECT_FALSE(driver.job().verdict());
}

TEST(JobSettleTest, WhoSendsNoHeartbeatsIsTheProbableCause) {
  JobDriver driver = Running(Settling().Build());
  driver.Wait(driver.job().spec().timers.suspect_after - Duration(1000));
  for (const char* task : {"worker:0", "worker:2"}) driver.Heartbeat(task);
  driver.Pass(Duration(1000));
  driver.Report("worker:0", LostPeer());

  driver.Pass(10 * kSettle);

  EXPECT_THAT(MessageOf(driver), testing::HasSubstr("; worker:1 sends no heartbeats"));
}

TEST(JobSettleTest, WhoExitedEarlyIsNamedAsTheProbableCause) {
  JobDriver driver = Running(Settling().Build());
  driver.Report("worker:2", Success());
  driver.Report("worker:0", LostPeer());

  driver.PassToDeadline();

  EXPECT_THAT(MessageOf(driver), testing::HasSubstr("; worker:2 had ended with exit code 0"));
}

TEST(JobSettleTest, WhoseAddressIsNamedIsTheProbableCause) {
  JobDriver driver = Running(Settling().Build());
  const Endpoint peer = EndpointOf("worker:1");
  driver.Report("worker:0", LostPeer(peer.host + ":" + std::to_string(peer.port) + ": Connection refused"));

  driver.PassToDeadline();

  EXPECT_THAT(MessageOf(driver), testing::HasSubstr("; the address is that of worker:1 (running)"));
}

Outcome TimedOut(const std::string& message) {
  Outcome outcome = LostPeer(message);
  outcome.cls = OutcomeClass::kHung;
  return outcome;
}

TEST(JobSettleTest, TheRankThatACollectiveWaitedForIsNamed) {
  JobDriver driver = Running(Settling().Build());
  driver.Report("worker:0", TimedOut("[Rank 0]: Rank 2 failed to pass monitoredBarrier in 1000 ms"));

  driver.PassToDeadline();

  EXPECT_THAT(MessageOf(driver), testing::HasSubstr("; did not take part: worker:2 (running)"));
}

TEST(JobSettleTest, WhereACollectiveTimedOutInAllOthersTheOneThatStillRunsIsNamed) {
  JobDriver driver = Running(Settling().Build());
  driver.Report("worker:2", LostPeer());
  driver.Report("worker:0", TimedOut("Watchdog caught collective operation timeout"));

  driver.PassToDeadline();

  EXPECT_EQ(driver.job().verdict()->attempt, AttemptOf("worker:0")) << "it says more than a lost connection";
  EXPECT_THAT(MessageOf(driver), testing::HasSubstr("; did not take part: worker:1 (running) (hung)"));
}

TEST(JobSettleTest, RanksThatReportsName) {
  EXPECT_THAT(SilentRanks("[Rank 0]: Ranks 1, 3 failed to pass monitoredBarrier in 1000 ms"), ElementsAre(1, 3));
  EXPECT_THAT(
      SilentRanks("lagging/dead/mismatched ranks that caused the desync are:\n\t   - [2] joined but didn't join"),
      ElementsAre(2));
  EXPECT_THAT(SilentRanks("Timed out waiting for ranks: 1, 2 within 60 s"), ElementsAre(1, 2));
  EXPECT_THAT(SilentRanks("Connection closed by peer [127.0.0.1]:36341"), IsEmpty());
  EXPECT_THAT(SilentRanks("waiting for ranks 99999999999"), IsEmpty());
}

TEST(JobSettleTest, RanksCountOverTheProcessesOfAllTrackedTasks) {
  JobSpec spec = Settling().Role("board", 1, Completion::kSidecar).Build();
  for (RoleSpec& role : spec.roles) role.processes = role.name == "worker" ? 2 : 1;
  EXPECT_EQ(TaskOfRank(spec, 0), (TaskId{"worker", 0}));
  EXPECT_EQ(TaskOfRank(spec, 3), (TaskId{"worker", 1}));
  EXPECT_EQ(TaskOfRank(spec, 6), std::nullopt);
}

TEST(JobSettleTest, ALongerPortIsAnotherAddress) {
  JobDriver driver = Running(Settling().Build());
  const Endpoint peer = EndpointOf("worker:1");
  driver.Report("worker:0", LostPeer(peer.host + ":" + std::to_string(peer.port) + "7: Connection refused"));

  driver.PassToDeadline();

  EXPECT_THAT(MessageOf(driver), testing::Not(testing::HasSubstr("the address is")));
}

TEST(JobSettleTest, AContainerThatGoesWhileItSettlesChangesNoVerdict) {
  JobDriver driver = Running(Settling().Build());
  driver.Report("worker:1", Failure(1));

  EXPECT_THAT(Decisions(driver.Exit("worker:1")), ElementsAre("container_ended"));
  EXPECT_THAT(Decisions(driver.PassToDeadline()), ElementsAre("job_stopping"));
}

}  // namespace
}  // namespace tony::am
