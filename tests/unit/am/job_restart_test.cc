// Restarts of single tasks and of roles: who is told what and when, who goes on in its container and who gets a new
// one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "am/core/job.h"
#include "runtime/base/strings.h"
#include "tests/support/job_builder.h"
#include "tests/unit/am/usual_jobs.h"

namespace tony::am {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Outcome Lost() { return {.cls = OutcomeClass::kPreempted}; }

Outcome Told(OutcomeClass cls = OutcomeClass::kInfra) {
  return {.cls = cls,
          .exit = ExitStatus{ExitStatus::Kind::kSignaled, 15},
          .message = "told to end",
          .source = Source::kSignal};
}

// ---- signals that anybody may have sent

// The next attempt goes on in the same executor, because a signal to the program says nothing about that.
void GoOnInItsExecutor(JobDriver& driver, const std::string& next) {
  if (driver.StatusOf("worker:0").state == "backoff") driver.PassToDeadline();
  driver.Register(next);
  driver.RunAll();
}

// Both times without a budget.
void EndByTwoSignals(JobDriver& driver) {
  for (const auto& [attempt, next] : {std::pair("worker:0", "worker:0#2"), std::pair("worker:0#2", "worker:0#3")}) {
    const TurnResult turn = driver.Report(attempt, Told());
    ASSERT_TRUE(Find<RestartDecided>(turn)) << attempt;
    EXPECT_FALSE(Find<RestartDecided>(turn)->charged) << attempt;
    EXPECT_EQ(Find<RestartDecided>(turn)->scope, kTask) << attempt;
    GoOnInItsExecutor(driver, next);
  }
}

TEST(JobRestartTest, ASignalIsFreeTwiceAndThenTheProgramsOwn) {
  JobDriver driver(Alone().Build());
  driver.Running();
  ASSERT_NO_FATAL_FAILURE(EndByTwoSignals(driver));

  driver.Report("worker:0#3", Told());

  ASSERT_TRUE(driver.job().verdict());
  EXPECT_EQ(driver.job().verdict()->cls, OutcomeClass::kUserError);
  EXPECT_THAT(driver.job().verdict()->message, HasSubstr("its own processes may have sent the signal"));
}

TEST(JobRestartTest, ASignalThatCameWithTheLossOfANodeDoesNotCount) {
  for (int lost_one = 1; lost_one <= 3; ++lost_one) {
    JobDriver driver(Alone().Build());
    driver.Running();
    for (int number = 1; number <= 3; ++number) {
      const bool lost = number == lost_one;
      const std::string task = number == 1 ? "worker:0" : StrCat("worker:0#", number);
      Outcome told = Told();
      if (lost) told.cls = OutcomeClass::kNodeLost;
      const TurnResult turn = driver.Report(task, told);
      ASSERT_TRUE(Find<RestartDecided>(turn)) << task << " " << lost;
      EXPECT_FALSE(Find<RestartDecided>(turn)->charged);
      if (!lost) {
        GoOnInItsExecutor(driver, StrCat("worker:0#", number + 1));
        continue;
      }
      driver.Exit(task);
      if (driver.StatusOf("worker:0").state == "backoff") driver.PassToDeadline();
      driver.GrantAll().RegisterAll().RunAll();
    }
  }
}

TEST(JobRestartTest, AThirdSignalTakesFromTheProgramsRestarts) {
  JobDriver driver(Alone().Restarts(kTask, 1).Build());
  driver.Running();
  ASSERT_NO_FATAL_FAILURE(EndByTwoSignals(driver));

  const TurnResult third = driver.Report("worker:0#3", Told());

  ASSERT_TRUE(Find<RestartDecided>(third));
  EXPECT_TRUE(Find<RestartDecided>(third)->charged);
}

TEST(JobRestartTest, ASignalLongAgoOrOfAnotherTaskIsAnotherStory) {
  JobDriver driver(Alone().LostRestarts(10, Duration(60'000)).Build());
  driver.Running();
  driver.Report("worker:0", Told());
  GoOnInItsExecutor(driver, "worker:0#2");
  const TurnResult other = driver.Report("worker:1", Told());
  ASSERT_TRUE(Find<RestartDecided>(other));
  EXPECT_FALSE(Find<RestartDecided>(other)->charged);
  driver.Wait(Duration(60'000));

  const TurnResult later = driver.Report("worker:0#2", Told());

  ASSERT_TRUE(Find<RestartDecided>(later));
  EXPECT_FALSE(Find<RestartDecided>(later)->charged);
}

// ---- one task

TEST(JobRestartTest, ATaskAloneGoesOnInItsExecutorWhileTheOthersRun) {
  JobDriver driver(Alone().Restarts(kTask, 1).Build());
  driver.Running();

  const TurnResult turn = driver.Report("worker:0", Failure(1));

  EXPECT_THAT(Decisions(turn), ElementsAre("attempt_ended", "restart_decided", "restart_began"));
  EXPECT_THAT(Orders(turn), ElementsAre("tell worker:0#1"));
  EXPECT_EQ(driver.Told("worker:0"), "next 2");
  EXPECT_EQ(driver.Told("worker:1"), "start 1");
  EXPECT_EQ(driver.Status().state, "RUNNING");
  EXPECT_EQ(driver.StatusOf("worker:0").attempt, 2);
  EXPECT_EQ(driver.StatusOf("worker:0").attempt_state, "launching");
  EXPECT_EQ(driver.StatusOf("worker:0").host, "node-worker-0");
}

TEST(JobRestartTest, AJoinerStartsAtOnceInTheSameGenerationWithTheSameClusterSpec) {
  JobDriver driver(Alone().Restarts(kTask, 1).Build());
  driver.Running();
  const Command others = driver.CommandFor("worker:1");
  driver.Report("worker:0", Failure(1));

  const TurnResult turn = driver.Register("worker:0#2");

  EXPECT_THAT(Decisions(turn), ElementsAre("attempt_registered"));
  EXPECT_THAT(Orders(turn), ElementsAre("tell worker:0#2"));
  EXPECT_EQ(driver.Told("worker:0#2"), "start 1");
  EXPECT_EQ(driver.CommandFor("worker:0#2").cluster_spec, others.cluster_spec);
  EXPECT_EQ(driver.CommandFor("worker:1"), others);
  EXPECT_THAT(Decisions(driver.Heartbeat("worker:0#2")), ElementsAre("attempt_ran"));
  EXPECT_EQ(driver.Status().generation, Generation{1});
}

TEST(JobRestartTest, AHeldExecutorIsToldNothingUntilTheBackOffIsOver) {
  JobDriver driver(Alone().Restarts(kTask, 2).Backoff(Duration(3000), Duration(9000)).Build());
  driver.Running();
  driver.Report("worker:0", Failure(1));
  driver.Register("worker:0#2");

  const TurnResult turn = driver.Report("worker:0#2", Failure(1));

  EXPECT_THAT(Decisions(turn), ElementsAre("attempt_ended", "restart_decided"));
  EXPECT_THAT(Orders(turn), IsEmpty());
  EXPECT_EQ(driver.Told("worker:0#2"), "none");
  EXPECT_EQ(driver.StatusOf("worker:0").state, "backoff");
  EXPECT_EQ(driver.job().NextDeadline(), driver.now() + Duration(3000));
  EXPECT_THAT(Decisions(driver.Pass(Duration(2999))), Not(testing::Contains("restart_began")));
  EXPECT_THAT(Orders(driver.Pass(Duration(1))), ElementsAre("tell worker:0#2"));
  EXPECT_EQ(driver.Told("worker:0#2"), "next 3");
}

TEST(JobRestartTest, AContainerThatIsLostWhileItsExecutorIsHeldIsReplaced) {
  JobDriver driver(Alone().Restarts(kTask, 2).Build());
  driver.Running();
  driver.Report("worker:0", Failure(1));
  driver.Register("worker:0#2");
  driver.Report("worker:0#2", Failure(1));

  EXPECT_THAT(Decisions(driver.Exit("worker:0#2")), ElementsAre("container_ended"));
  const TurnResult turn = driver.PassToDeadline();

  EXPECT_THAT(Decisions(turn), ElementsAre("restart_began"));
  EXPECT_THAT(Orders(turn), ElementsAre("tell worker:0#2", "request worker:0#3"));
}

TEST(JobRestartTest, AJoinerWithAnotherAddressIsInTheClusterSpecThatItGets) {
  JobDriver driver(Alone().Build());
  driver.Running();
  driver.Exit("worker:0");
  ASSERT_EQ(driver.StatusOf("worker:0").attempt_state, "requested");

  EXPECT_THAT(Orders(driver.Grant("worker:0#2")), ElementsAre("launch worker:0#2 in c-worker-0-2"));
  driver.Register("worker:0#2");

  EXPECT_EQ(driver.Told("worker:0#2"), "start 1");
  const std::string spec = driver.CommandFor("worker:0#2").cluster_spec;
  EXPECT_THAT(spec, HasSubstr("node-worker-0-2:4000"));
  EXPECT_THAT(spec, HasSubstr("node-worker-1:4001"));
  EXPECT_THAT(spec, Not(HasSubstr("node-worker-0:4000")));
}

TEST(JobRestartTest, AWorkerBesideParameterServersComesBackAloneWithItsAddress) {
  JobDriver driver(JobBuilder().Role("worker", 2).Role("ps", 1, Completion::kUntracked).Restarts(kTask, 1).Build());
  driver.Running();

  driver.Report("worker:1", Failure(1));
  driver.Register("worker:1#2");

  EXPECT_EQ(driver.Told("worker:1#2"), "start 1");
  EXPECT_EQ(driver.Told("ps:0"), "start 1");
  EXPECT_EQ(driver.CommandFor("worker:1#2").cluster_spec, driver.CommandFor("ps:0").cluster_spec);
}

TEST(JobRestartTest, ASidecarComesBackAloneAndIsThenLeftAlone) {
  JobDriver driver(Collective().Restarts(kTask, 1).Build());
  driver.Running();

  EXPECT_THAT(Decisions(driver.Report("board:0", Failure(1))), ElementsAre("attempt_ended", "restart_decided"));
  EXPECT_EQ(driver.Told("worker:0"), "start 1");
  driver.Exit("board:0");
  driver.GrantAll().RegisterAll();
  EXPECT_EQ(driver.Told("board:0#2"), "start 1");
  const TurnResult turn = driver.Report("board:0#2", Failure(1));

  EXPECT_THAT(Decisions(turn), ElementsAre("attempt_ended"));
  EXPECT_EQ(driver.Told("board:0#2"), "release");
  EXPECT_EQ(driver.Status().state, "RUNNING");
}

TEST(JobRestartTest, AnAttemptThatEndsBeforeTheGangHasFormedIsReplacedAloneAndTheGangForms) {
  JobDriver driver(Collective().Build());
  driver.Gathering();
  driver.Register("worker:0");

  const TurnResult turn = driver.Exit("worker:1");

  EXPECT_THAT(Decisions(turn), ElementsAre("attempt_ended", "container_ended", "restart_decided", "restart_began"));
  EXPECT_THAT(Orders(turn), testing::Contains("request worker:1#2"));
  EXPECT_EQ(driver.Told("worker:0"), "none");
  driver.GrantAll().RegisterAll();
  EXPECT_EQ(driver.Told("worker:0"), "start 1");
  EXPECT_EQ(driver.Told("worker:1#2"), "start 1");
  EXPECT_EQ(driver.Status().state, "RUNNING");
}

// ---- a role

TEST(JobRestartTest, ARoleStartsTogetherAndTheOthersRunOn) {
  JobDriver driver(Alone().Role("reader", 1).Restarts(kRole, 1).Build());
  driver.Running();

  const TurnResult decided = driver.Report("worker:0", Failure(1));
  EXPECT_THAT(Decisions(decided), ElementsAre("attempt_ended", "restart_decided"));
  EXPECT_THAT(Orders(decided), ElementsAre("tell worker:1#1"));
  EXPECT_EQ(driver.Told("worker:0"), "none");
  EXPECT_EQ(driver.Told("worker:1"), "stop");
  EXPECT_EQ(driver.Told("reader:0"), "start 1");

  const TurnResult began = driver.Report("worker:1", Killed());
  EXPECT_THAT(Decisions(began), ElementsAre("attempt_ended", "restart_began"));
  EXPECT_THAT(Orders(began), ElementsAre("tell worker:0#1", "tell worker:1#1"));

  EXPECT_THAT(Orders(driver.Register("worker:0#2")), IsEmpty());
  EXPECT_EQ(driver.Told("worker:0#2"), "none") << "it needs the address of the other one";
  EXPECT_THAT(Orders(driver.Register("worker:1#2")), ElementsAre("tell worker:0#2", "tell worker:1#2"));
  EXPECT_EQ(driver.Told("worker:0#2"), "start 1");
  EXPECT_EQ(driver.Status().state, "RUNNING");
}

TEST(JobRestartTest, OneOfARoleThatEndsBeforeItRegistersDoesNotHoldUpTheOthers) {
  JobDriver driver(Alone().Restarts(kRole, 1).Build());
  driver.Running();
  driver.Report("worker:0", Failure(1));
  driver.Report("worker:1", Killed());
  driver.Register("worker:0#2");
  ASSERT_EQ(driver.Told("worker:0#2"), "none");

  driver.Exit("worker:1#2");

  EXPECT_EQ(driver.Told("worker:0#2"), "start 1");
  driver.GrantAll().RegisterAll();
  EXPECT_EQ(driver.Told("worker:1#3"), "start 1");
}

TEST(JobRestartTest, AnExecutorInTroubleIsNotTrustedWithAnotherAttempt) {
  for (const auto cls : {OutcomeClass::kNodeLost, OutcomeClass::kInfra, OutcomeClass::kPreempted}) {
    SCOPED_TRACE(ToString(cls));
    JobDriver driver(Alone().Build());
    driver.Running();
    driver.Report("worker:0", {.cls = cls});
    EXPECT_EQ(driver.Told("worker:0"), "release");
    EXPECT_THAT(Orders(driver.Exit("worker:0")), testing::Contains("request worker:0#2"));
  }
}

TEST(JobRestartTest, AVerdictAfterFreeRestartsTellsTheirNumber) {
  JobDriver driver(Alone().Build());
  driver.Running();
  driver.Exit("worker:0");

  driver.Report("worker:1", Failure(1));

  EXPECT_THAT(driver.job().verdict()->message, HasSubstr("(user_error); after 1 restart"));
}

// ---- one restart takes over another

TEST(JobRestartTest, ABiggerRestartTakesOverASmallerOneThatHasNotBegun) {
  JobDriver driver(Alone().Restarts(kGang, 1).Build());
  driver.Running();
  driver.Report("worker:0", Lost());  // free; it begins when its container is gone
  ASSERT_EQ(driver.StatusOf("worker:0").state, "backoff");

  EXPECT_THAT(Decisions(driver.Report("worker:1", Failure(1))), ElementsAre("attempt_ended", "restart_decided"));
  const TurnResult turn = driver.Exit("worker:0");

  EXPECT_THAT(Decisions(turn), ElementsAre("container_ended", "restart_began"));
  EXPECT_EQ(Find<RestartBegan>(turn)->number, 2);
  EXPECT_EQ(driver.Status().restart_count, 2);
  EXPECT_EQ(driver.Told("worker:1"), "next 2");
  EXPECT_EQ(driver.StatusOf("worker:0").attempt_state, "requested");
  EXPECT_EQ(driver.Status().state, "ALLOCATING");
}

TEST(JobRestartTest, TwoTasksRestartIndependently) {
  JobDriver driver(Alone().Restarts(kTask, 1).Build());
  driver.Running();
  driver.Report("worker:0", Lost());

  EXPECT_THAT(Decisions(driver.Report("worker:1", Failure(1))),
              ElementsAre("attempt_ended", "restart_decided", "restart_began"));

  EXPECT_EQ(driver.StatusOf("worker:0").state, "backoff");
  EXPECT_EQ(driver.StatusOf("worker:1").state, "active");
}

// ---- what is shown and told

TEST(JobRestartTest, AStatusShowsTheNewestTwentyRestartsAndCountsAll) {
  JobDriver driver(JobBuilder()
                       .Role("worker", 1)
                       .Framework(FrameworkKind::kStandalone)
                       .Restarts(kTask, 50)
                       .Backoff(Duration(0), Duration(0))
                       .Build());
  driver.Running();
  for (int attempt = 1; attempt <= 25; ++attempt) {
    driver.Report("worker:0#" + std::to_string(attempt), Failure(attempt));
    driver.RegisterAll().RunAll();
  }

  const JobStatus status = driver.Status();

  EXPECT_EQ(status.restart_count, 25);
  ASSERT_EQ(status.restarts.size(), 20U);
  EXPECT_EQ(status.restarts.front().number, 6);
  EXPECT_EQ(status.restarts.back().number, 25);
  EXPECT_EQ(status.restarts.back().scope, "task");
  EXPECT_EQ(status.restarts.back().cause, AttemptOf("worker:0#25"));
  EXPECT_TRUE(status.restarts.back().charged);
}

}  // namespace
}  // namespace tony::am
