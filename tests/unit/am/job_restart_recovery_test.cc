// A master that dies at any decision of a job that restarts: the next one goes on to the same end.
#include <gmock/gmock.h>

#include "runtime/base/strings.h"
#include "tests/unit/am/gang_run.h"
#include "tests/unit/am/job_script.h"
#include "tests/unit/am/usual_jobs.h"

namespace tony::am {
namespace {

const TestRow kRestartingAgain[] = {
    // ---- what a new master orders
    {"ANewMasterHoldsWhoWasHeld",
     {{"job worker*2 board*1:sidecar pytorch gang=1: running, report worker:0 fails 1, master 2",
       "no orders; worker:0 told none; worker:1 told stop"},
      {"register worker:0 ended, report worker:1 board:0 killed", "worker:0 told next 2"}}},
    {"ANewMasterTellsWhoIsToGoOnThatItIs",
     {{"+task=1: running, report worker:0 fails 1, master 2", "no orders"},
      {"register worker:0 ended", "worker:0 told next 2"},
      {"register worker:0#2", "attempt_registered; worker:0#2 told start 1"}}},
    {"ANewMasterAsksAgainForTheContainerOfARestart",
     {{"running, exit worker:0, master 2", "orders request worker:0#2"}}},
    {"ANewMasterDoesNotSendSignalsToARenewedExecutorThatStops",
     {{"+task=1: running, report worker:0 fails 1, kill, master 2", "no orders; worker:0 told next 2"}}},
    {"AFailureThatWasNotJudgedIsJudgedByTheNewMaster",
     {{"+task=1: running, report worker:0 fails 1", "attempt_ended restart_decided restart_began"},
      {"replay -2, start 2", "epoch_began restart_decided restart_began"}}},
    // ---- budgets and back-off
    {"BudgetsSurviveTheMaster",
     {{"+task=1: running, report worker:0 fails 1, register worker:0#2, master 2, report worker:0#2 fails 1",
       "attempt_ended job_stopping"}}},
    {"ABackOffEndsWhenItWouldHaveEnded",
     {{"+task=2 backoff=4s/4s: running, report worker:0 fails 1, register worker:0#2, report worker:0#2 fails 1, note, "
       "standstill 1500ms, master 2",
       "deadline noted"},
      {"deadline", "has restart_began"}}},
    {"ABackOffThatEndedMeanwhileIsOverAtOnce",
     {{"+task=2: running, report worker:0 fails 1, register worker:0#2, report worker:0#2 fails 1, standstill 5s, "
       "master 2",
       "epoch_began restart_began"}}},
    // Nobody could hear that the container is gone while there was no master.
    {"ANewMasterWaitsAnewForALostContainerToBeGone",
     {{"running, report worker:0 infra, standstill 20s, master 2", "epoch_began"},
      {"exit worker:0", "container_ended restart_began"}}},
};
TABLE_TEST(JobRestartRecoveryTest, kRestartingAgain, Script("worker*2 standalone"));

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
  ASSERT_THAT(RestartsOf(whole.journal()), testing::Not(testing::IsEmpty()));

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
    EXPECT_THAT(run.world().Running(), testing::IsEmpty());
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
