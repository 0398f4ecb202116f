// A master that dies at any decision of a job that restarts: the next one goes on to the same end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "am/core/job.h"
#include "runtime/base/strings.h"
#include "tests/support/job_builder.h"
#include "tests/unit/am/gang_run.h"
#include "tests/unit/am/usual_jobs.h"

namespace tony::am {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

// ---- what a new master orders

TEST(JobRestartRecoveryTest, ANewMasterHoldsWhoWasHeld) {
  JobDriver driver(Collective().Restarts(kGang, 1).Build());
  driver.Running();
  driver.Report("worker:0", Failure(1));
  driver.Replay();

  EXPECT_THAT(Orders(driver.Start({2})), IsEmpty());

  EXPECT_EQ(driver.Told("worker:0"), "none");
  EXPECT_EQ(driver.Told("worker:1"), "stop");
  EXPECT_FALSE(driver.Register("worker:0", Phase::kEnded).refusal);
  driver.Report("worker:1", Killed());
  driver.Report("board:0", Killed());
  EXPECT_EQ(driver.Told("worker:0"), "next 2");
}

TEST(JobRestartRecoveryTest, ANewMasterTellsWhoIsToGoOnThatItIs) {
  JobDriver driver(Alone().Restarts(kTask, 1).Build());
  driver.Running();
  driver.Report("worker:0", Failure(1));
  driver.Replay();

  EXPECT_THAT(Orders(driver.Start({2})), IsEmpty());

  EXPECT_FALSE(driver.Register("worker:0", Phase::kEnded).refusal);
  EXPECT_EQ(driver.Told("worker:0"), "next 2");
  EXPECT_THAT(Decisions(driver.Register("worker:0#2")), ElementsAre("attempt_registered"));
  EXPECT_EQ(driver.Told("worker:0#2"), "start 1");
}

TEST(JobRestartRecoveryTest, ANewMasterAsksAgainForTheContainerOfARestart) {
  JobDriver driver(Alone().Build());
  driver.Running();
  driver.Exit("worker:0");
  driver.Replay();

  EXPECT_THAT(Orders(driver.Start({2})), ElementsAre("request worker:0#2"));
}

TEST(JobRestartRecoveryTest, ANewMasterDoesNotSendSignalsToARenewedExecutorThatStops) {
  JobDriver driver(Alone().Restarts(kTask, 1).Build());
  driver.Running();
  driver.Report("worker:0", Failure(1));
  driver.Kill();
  driver.Replay();

  EXPECT_THAT(Orders(driver.Start({2})), IsEmpty()) << "it will ask, as the attempt before";
  EXPECT_EQ(driver.Told("worker:0"), "next 2");
}

TEST(JobRestartRecoveryTest, AFailureThatWasNotJudgedIsJudgedByTheNewMaster) {
  JobDriver driver(Alone().Restarts(kTask, 1).Build());
  driver.Running();
  driver.Report("worker:0", Failure(1));
  size_t ended = driver.journal().size();
  while (Name(driver.journal()[ended - 1]) != "attempt_ended") --ended;
  driver.Replay(ended);

  EXPECT_THAT(Decisions(driver.Start({2})), ElementsAre("epoch_began", "restart_decided", "restart_began"));
}

// ---- budgets and back-off

TEST(JobRestartRecoveryTest, BudgetsSurviveTheMaster) {
  JobDriver driver(Alone().Restarts(kTask, 1).Build());
  driver.Running();
  driver.Report("worker:0", Failure(1));
  driver.Register("worker:0#2");
  driver.Replay();
  driver.Start({2});

  EXPECT_THAT(Decisions(driver.Report("worker:0#2", Failure(1))), ElementsAre("attempt_ended", "job_stopping"));
}

TEST(JobRestartRecoveryTest, ABackOffEndsWhenItWouldHaveEnded) {
  JobDriver driver(Alone().Restarts(kTask, 2).Backoff(Duration(4000), Duration(4000)).Build());
  driver.Running();
  driver.Report("worker:0", Failure(1));
  driver.Register("worker:0#2");
  driver.Report("worker:0#2", Failure(1));
  const auto begins = driver.job().NextDeadline();
  driver.WaitWithoutRenewal(Duration(1500));
  driver.Replay();
  driver.Start({2});

  EXPECT_EQ(driver.job().NextDeadline(), begins);
  EXPECT_THAT(Decisions(driver.PassToDeadline()), Contains("restart_began"));
}

TEST(JobRestartRecoveryTest, ABackOffThatEndedMeanwhileIsOverAtOnce) {
  JobDriver driver(Alone().Restarts(kTask, 2).Build());
  driver.Running();
  driver.Report("worker:0", Failure(1));
  driver.Register("worker:0#2");
  driver.Report("worker:0#2", Failure(1));
  driver.WaitWithoutRenewal(Duration(5000));
  driver.Replay();

  EXPECT_THAT(Decisions(driver.Start({2})), ElementsAre("epoch_began", "restart_began"));
}

// Nobody could hear that the container is gone while there was no master.
TEST(JobRestartRecoveryTest, ANewMasterWaitsAnewForALostContainerToBeGone) {
  JobDriver driver(Alone().Build());
  driver.Running();
  driver.Report("worker:0", {.cls = OutcomeClass::kInfra});
  driver.WaitWithoutRenewal(Duration(20'000));
  driver.Replay();

  EXPECT_THAT(Decisions(driver.Start({2})), ElementsAre("epoch_began"));
  EXPECT_THAT(Decisions(driver.Exit("worker:0")), ElementsAre("container_ended", "restart_began"));
}

// ---- a master that dies at every decision of a whole job

struct RestartStory {
  const char* name;
  JobSpec spec;
  GangPlan plan;
  std::optional<JobState> kill_in = {};
  bool same_restarts = true;  // false: it may be over before it comes to one
};

const TaskId kFirstWorker{"worker", 0}, kSecondWorker{"worker", 1}, kBoard{"board", 0};
const std::map<TaskId, Outcome> kBothSucceed = {{kFirstWorker, Success()}, {kSecondWorker, Success()}};

const std::vector<RestartStory>& RestartStories() {
  static const std::vector<RestartStory> stories = {
      {"ATaskRestarts",
       Alone().Restarts(kTask, 1).Build(),
       {.ends = kBothSucceed, .attempt_ends = {{{kFirstWorker, 1}, Failure(1)}}}},
      {"ATaskBacksOff",
       Alone().Restarts(kTask, 3).Build(),
       {.ends = kBothSucceed, .attempt_ends = {{{kFirstWorker, 1}, Failure(1)}, {{kFirstWorker, 2}, Failure(1)}}}},
      {"ARoleRestarts",
       Alone().Role("reader", 1, Completion::kUntracked).Restarts(kRole, 1).Build(),
       {.ends = kBothSucceed, .attempt_ends = {{{kSecondWorker, 1}, Failure(1)}}}},
      {"AGangRestarts",
       Collective().Restarts(kGang, 1).Build(),
       {.ends = kBothSucceed, .attempt_ends = {{{kSecondWorker, 1}, Failure(1)}}}},
      {"AGangRestartsFromACheckpoint",
       Collective().Restarts(kGang, 1).Checkpoints("/checkpoints").Build(),
       {.ends = kBothSucceed, .attempt_ends = {{{kSecondWorker, 1}, Failure(1)}}, .checkpoints = 9}},
      {"AJobRestarts",
       Collective().Restarts(kJob, 1).Build(),
       {.ends = kBothSucceed, .attempt_ends = {{{kFirstWorker, 1}, Failure(1)}}}},
      {"AnExecutorFreezes",
       Collective().Build(),
       {.ends = {{kSecondWorker, Success()}},
        .attempt_ends = {{{kFirstWorker, 2}, Success()}},
        .frozen = {{kFirstWorker, 1}}}},
      {"ATaskIsPreempted",
       Alone().Build(),
       {.ends = {{kSecondWorker, Success()}},
        .attempt_ends = {{{kFirstWorker, 2}, Success()}},
        .preempted = {{kFirstWorker, 1}}}},
      {"ASidecarRestarts",
       Collective().Restarts(kTask, 1).Build(),
       {.ends = kBothSucceed, .attempt_ends = {{{kBoard, 1}, Failure(1)}}},
       {},
       /*same_restarts=*/false},
      {"TheBudgetIsUsedUp", Alone().Restarts(kTask, 2).Build(), {.ends = {{kFirstWorker, Failure(3)}}}},
      {"ItIsKilledWhileItRestarts",
       Collective().Restarts(kGang, 1).Build(),
       {.attempt_ends = {{{kSecondWorker, 1}, Failure(1)}}},
       JobState::kRestarting},
  };
  return stories;
}

class EveryPrefixOfARestart : public testing::TestWithParam<std::tuple<size_t, bool>> {
 protected:
  GangRun Run(std::vector<GangRun::Death> deaths) const {
    const RestartStory& story = RestartStories()[std::get<0>(GetParam())];
    return GangRun(
        {.spec = story.spec, .plan = story.plan, .seed = 3, .deaths = std::move(deaths), .kill_in = story.kill_in});
  }
  bool same_restarts() const { return RestartStories()[std::get<0>(GetParam())].same_restarts; }
  bool after_acting() const { return std::get<1>(GetParam()); }
};

// The restarts themselves are the same, too: none is lost, and none is made twice.
std::vector<std::string> RestartsOf(const std::vector<Decision>& journal) {
  std::vector<std::string> restarts;
  for (const Decision& decision : journal) {
    if (const auto* d = std::get_if<RestartDecided>(&decision.body))
      restarts.push_back(
          StrCat(d->number, " ", ToString(d->scope), " ", ToString(d->cause), d->charged ? "" : " free"));
  }
  return restarts;
}

TEST_P(EveryPrefixOfARestart, LeadsToTheSameEnd) {
  GangRun whole = Run({});
  whole.ToTheEnd();
  ASSERT_TRUE(whole.job().Ended()) << ToJson(whole.job().Snapshot("", {}));
  ASSERT_THAT(RestartsOf(whole.journal()), testing::Not(IsEmpty()));

  for (size_t decisions = 0; decisions <= whole.journal().size(); ++decisions) {
    SCOPED_TRACE(StrCat("the master died at decision ", decisions));
    GangRun run = Run({{decisions, after_acting()}});
    run.ToTheEnd();
    ASSERT_TRUE(run.job().Ended()) << ToJson(run.job().Snapshot("", {}));
    EXPECT_EQ(run.job().verdict(), whole.job().verdict());
    if (same_restarts()) {
      EXPECT_EQ(RestartsOf(run.journal()), RestartsOf(whole.journal()));
    }
    EXPECT_FALSE(run.world().took_back_a_command());
    EXPECT_THAT(run.world().Running(), IsEmpty());
    EXPECT_EQ(run.ordered_again().size(), 2U);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(JobRestartRecoveryTest, EveryPrefixOfARestart,
                         testing::Combine(testing::Range<size_t>(0, RestartStories().size()), testing::Bool()),
                         [](const auto& story) {
                           return std::string(RestartStories()[std::get<0>(story.param)].name) +
                                  (std::get<1>(story.param) ? "AfterActing" : "BeforeActing");
                         });

}  // namespace
}  // namespace tony::am
