// A new master continues where the journal ends: it repeats the orders that may not have been performed, and the job
// ends as it would have ended under the old master.
#include <gmock/gmock.h>

#include "runtime/base/strings.h"
#include "tests/unit/am/gang_run.h"
#include "tests/unit/am/job_script.h"
#include "tests/unit/am/usual_jobs.h"

namespace tony::am {
namespace {

const TestRow kRecovering[] = {
    // ---- orders that are repeated
    {"ANewMasterRepeatsContainerRequestsThatWereNotGranted",
     {{"start, grant worker:1, master 2", "epoch_began; orders launch worker:1#1 in c-worker-1, request worker:0#1"}}},
    {"ANewMasterDoesNotRepeatOrdersThatWerePerformed",
     {{"running, master 2", "no orders; epoch 2; worker:0 told start 1"}}},
    {"ANewMasterRepeatsTheStopOrderForUnregisteredExecutors",
     {{"gathering, register worker:1, kill, master 2", "orders term c-worker-0; worker:1 told stop"}}},
    {"ANewMasterRepeatsTheKillOrderOfContainersThatStillRun",
     {{"running, report worker:0 success, deadline, master 2", "orders kill c-worker-0"}}},
    {"ANewMasterOfAnEndedJobRepeatsOnlyTheOrderToEndTheJob",
     {{"start, kill enough, master 2", "epoch_began; orders end job; verdict says `enough`"}}},
    {"ALaunchIsOrderedAgainIfTheSchedulerDoesNotKnowTheContainer",
     {{"gathering, reach c-worker-1", "nothing; orders launch worker:0#1 in c-worker-0"}}},
    {"AReconnectedSchedulerReceivesNoLaunchOrdersForRegisteredExecutors", {{"running, reach", "no orders"}}},
    // ---- state that executors report again
    {"ARunningExecutorsRegistrationWithANewMasterChangesNothing",
     {{"running, master 2, register worker:0 running 100", "nothing; worker:0 pid 100"}}},
    {"ANewMasterMarksATaskAsRunningWhenTheExecutorRegistersItAsRunning",
     {{"gathering, all-registered, master 2, register worker:0 running 4711", "attempt_ran; worker:0 pid 4711"}}},
    {"ANewMasterAcceptsAnOutcomeThatTheOldMasterMissed",
     {{"job worker*1: running, master 2, register worker:0 ended, report worker:0 fails 3",
       "attempt_ended job_stopping; verdict exit 3"}}},
    {"TheStartCommandOfAFormedGangIsTheSameUnderANewMaster",
     {{"running, note worker:0, master 2", "worker:0 told as noted"}}},
    {"ANewMasterFailsTheJobIfTheOldMasterRecordedOnlyTheTaskFailure",
     {{"running, report worker:0 fails 3", "attempt_ended job_stopping"},
      {"replay -1, start 2", "epoch_began job_stopping; verdict of worker:0"}}},
};
TABLE_TEST(JobRecoveryTest, kRecovering, Script("worker*2"));

TEST(JobRecoveryTest, AJournalInWhichAnOldEpochBeginsAgainIsRejected) {
  JobDriver driver(TwoWorkers());
  driver.Start({2});

  for (const int64_t epoch : {1, 2}) {
    const auto evolved = driver.job().Evolve({driver.now(), EpochBegan{{epoch}}});
    ASSERT_FALSE(evolved.ok());
    EXPECT_EQ(evolved.error().code, ErrorCode::kInvalid);
  }
}

// ---- a master that dies at every decision of a whole job

JobSpec Gang() {
  return JobBuilder()
      .Role("board", 1, Completion::kSidecar)
      .Role("ps", 1, Completion::kUntracked)
      .Role("worker", 2)
      .Build();
}

struct Story {
  const char* name;
  std::map<TaskId, Outcome> ends;
  std::optional<JobState> kill_in;
};

const std::vector<Story>& Stories() {
  static const std::vector<Story> stories = {
      {"TheJobSucceeds", {{{"worker", 0}, Success()}, {{"worker", 1}, Success()}}, {}},
      {"TheJobFails", {{{"worker", 1}, Failure(3)}, {{"board", 0}, Failure(1)}}, {}},
      {"TheJobIsKilled", {}, JobState::kRunning},
      {"TheJobIsKilledWhileExecutorsRegister", {}, JobState::kGathering},
      {"TheJobIsKilledWhileContainersAreAllocated", {}, JobState::kAllocating},
  };
  return stories;
}

class EveryPrefix : public testing::TestWithParam<std::tuple<size_t, bool>> {
 protected:
  GangRun::Script ScriptOf(std::vector<GangRun::Death> deaths) const {
    const Story& story = Stories()[std::get<0>(GetParam())];
    return {.spec = Gang(), .plan = {.ends = story.ends}, .deaths = std::move(deaths), .kill_in = story.kill_in};
  }
  bool after_acting() const { return std::get<1>(GetParam()); }
};

// Collects the orders that the decisions require and that no later decision shows to be performed.
class StillToBeDone {
 public:
  void See(const DecisionBody& body) {
    if (const auto* d = std::get_if<ContainersRequested>(&body)) asked_.insert(d->attempts.begin(), d->attempts.end());
    if (const auto* d = std::get_if<ContainerAssigned>(&body)) Assign(d->attempt, d->container);
    if (const auto* d = std::get_if<AttemptLaunched>(&body)) unlaunched_.erase(d->attempt);
    if (const auto* d = std::get_if<AttemptRegistered>(&body)) Know(d->attempt);
    if (const auto* d = std::get_if<AttemptEnded>(&body)) Know(d->attempt);
    if (const auto* d = std::get_if<ContainerKillOrdered>(&body)) killed_.insert(d->container);
    if (const auto* d = std::get_if<ContainerEnded>(&body)) killed_.erase(d->container);
    stopping_ |= std::holds_alternative<JobStopping>(body);
    ended_ |= std::holds_alternative<JobEnded>(body);
  }
  std::vector<std::string> Orders() const {
    std::vector<std::string> orders;
    std::string request = "request";
    for (const AttemptId& id : asked_) request += " " + ToString(id);
    if (!asked_.empty() && !stopping_) orders.push_back(request);
    for (const auto& [id, container] : stopping_ ? unheard_ : unlaunched_) {
      if (stopping_) orders.push_back(StrCat("term ", container.value));
      if (!stopping_) orders.push_back(StrCat("launch ", ToString(id), " in ", container.value));
    }
    for (const ContainerId& id : killed_) orders.push_back(StrCat("kill ", id.value));
    if (ended_) orders.emplace_back("end job");
    return orders;
  }

 private:
  void Assign(const AttemptId& id, const ContainerId& container) {
    asked_.erase(id);
    unlaunched_[id] = unheard_[id] = container;
  }
  void Know(const AttemptId& id) {
    asked_.erase(id);
    unlaunched_.erase(id);
    unheard_.erase(id);
  }
  std::set<AttemptId> asked_;
  std::map<AttemptId, ContainerId> unlaunched_, unheard_;
  std::set<ContainerId> killed_;
  bool stopping_ = false, ended_ = false;
};

TEST_P(EveryPrefix, TheVerdictIsTheSameIfTheMasterDiesAfterAnyDecision) {
  GangRun whole(ScriptOf({}));
  whole.ToTheEnd();
  ASSERT_TRUE(whole.job().Ended());

  for (size_t decisions = 0; decisions <= whole.journal().size(); ++decisions) {
    SCOPED_TRACE(StrCat("the master died at decision ", decisions));
    GangRun run(ScriptOf({{decisions, after_acting()}}));
    run.ToTheEnd();
    ASSERT_TRUE(run.job().Ended());
    EXPECT_EQ(run.job().verdict(), whole.job().verdict());
    ASSERT_EQ(run.ordered_again().size(), 2U);
  }
}

TEST_P(EveryPrefix, ANewMasterRepeatsTheOrdersThatWereNotPerformed) {
  GangRun whole(ScriptOf({}));
  whole.ToTheEnd();

  StillToBeDone expected;
  for (size_t decisions = 1; decisions <= whole.journal().size(); ++decisions) {
    SCOPED_TRACE(StrCat("the master died at decision ", decisions));
    JobDriver driver(Gang());
    for (size_t i = 0; i < decisions; ++i) ASSERT_TRUE(driver.job().Evolve(whole.journal()[i]).ok());
    expected.See(whole.journal()[decisions - 1].body);

    const CoreStepResult turn = driver.Start({2});

    // If the journal ends within a turn, the rest of that turn follows with its own orders.
    const bool nothing_new = turn.decisions.size() == 1;
    if (nothing_new) {
      EXPECT_THAT(Orders(turn), testing::UnorderedElementsAreArray(expected.Orders()));
    }
    for (const std::string& order : expected.Orders()) EXPECT_THAT(Orders(turn), testing::Contains(order));
  }
}

INSTANTIATE_TEST_SUITE_P(JobRecoveryTest, EveryPrefix,
                         testing::Combine(testing::Range<size_t>(0, Stories().size()), testing::Bool()),
                         [](const auto& story) {
                           return std::string(Stories()[std::get<0>(story.param)].name) +
                                  (std::get<1>(story.param) ? "_OrdersPerformed" : "_OrdersNotPerformed");
                         });

// ---- A master dies after any decision of a job that restarts, and the next master reaches the same end.

const TestRow kRestartingAgain[] = {
    // ---- orders of a new master
    {"ANewMasterDoesNotReleaseExecutorsThatAwaitTheirNextAttempt",
     {{"job worker*2 board*1:sidecar pytorch gang=1: running, report worker:0 fails 1, master 2",
       "no orders; worker:0 told none; worker:1 told stop"},
      {"register worker:0 ended, report worker:1 board:0 killed", "worker:0 told next 2"}}},
    {"ANewMasterRepeatsTheCommandForTheNextAttempt",
     {{"+task=1: running, report worker:0 fails 1, master 2", "no orders"},
      {"register worker:0 ended", "worker:0 told next 2"},
      {"register worker:0#2", "attempt_registered; worker:0#2 told start 1"}}},
    {"ANewMasterRepeatsTheContainerRequestOfARestart",
     {{"running, exit worker:0, master 2", "orders request worker:0#2"}}},
    {"ANewMasterOfAKilledJobSendsNoSignalToAnExecutorBetweenAttempts",
     {{"+task=1: running, report worker:0 fails 1, kill, master 2", "no orders; worker:0 told next 2"}}},
    {"ANewMasterRestartsATaskIfTheOldMasterRecordedOnlyTheTaskFailure",
     {{"+task=1: running, report worker:0 fails 1", "attempt_ended restart_decided restart_began"},
      {"replay -2, start 2", "epoch_began restart_decided restart_began"}}},
    // ---- budgets and back-off
    {"ANewMasterRestoresTheUsedRestartBudget",
     {{"+task=1: running, report worker:0 fails 1, register worker:0#2, master 2, report worker:0#2 fails 1",
       "attempt_ended job_stopping"}}},
    {"ABackOffEndsAtTheSameTimeUnderANewMaster",
     {{"+task=2 backoff=4s/4s: running, report worker:0 fails 1, register worker:0#2, report worker:0#2 fails 1, note, "
       "standstill 1500ms, master 2",
       "deadline noted"},
      {"deadline", "has restart_began"}}},
    {"ANewMasterRestartsATaskAtOnceIfTheBackOffHasEnded",
     {{"+task=2: running, report worker:0 fails 1, register worker:0#2, report worker:0#2 fails 1, standstill 5s, "
       "master 2",
       "epoch_began restart_began"}}},
    // While no master was running, the container's end could not be reported.
    {"ANewMasterWaitsAgainForTheExitOfALostContainer",
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
  bool same_restarts = true;  // false: may end before any restart
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
      {"ATaskFailsAfterItHasUsedAllItsRestarts",
       Alone().Restarts(kTask, 2).Build(),
       {.ends = {{kFirstWorker, Failure(3)}}}},
      {"AJobIsKilledWhileItRestarts",
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

// The restarts are also the same: no restart is lost, and no restart happens twice.
std::vector<std::string> RestartsOf(const std::vector<Decision>& journal) {
  std::vector<std::string> restarts;
  for (const Decision& decision : journal) {
    if (const auto* d = std::get_if<RestartDecided>(&decision.body))
      restarts.push_back(
          StrCat(d->number, " ", ToString(d->scope), " ", ToString(d->cause), d->charged ? "" : " free"));
  }
  return restarts;
}

TEST_P(EveryPrefixOfARestart, RestartsAndVerdictAreTheSameIfTheMasterDiesAfterAnyDecision) {
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
                                  (std::get<1>(story.param) ? "_OrdersPerformed" : "_OrdersNotPerformed");
                         });

}  // namespace
}  // namespace tony::am
