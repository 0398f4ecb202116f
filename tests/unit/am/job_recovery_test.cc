// A new master goes on where the journal ends: it orders again what may not have been done, and the job ends as it
// would have ended.
#include <gmock/gmock.h>

#include "runtime/base/strings.h"
#include "tests/unit/am/gang_run.h"
#include "tests/unit/am/job_script.h"
#include "tests/unit/am/usual_jobs.h"

namespace tony::am {
namespace {

const TestRow kRecovering[] = {
    // ---- what is ordered again
    {"ANewMasterAsksAgainForWhatHasNotBeenGranted",
     {{"start, grant worker:1, master 2", "epoch_began; orders launch worker:1#1 in c-worker-1, request worker:0#1"}}},
    {"ANewMasterDoesNotOrderWhatIsKnownToBeDone", {{"running, master 2", "no orders; epoch 2; worker:0 told start 1"}}},
    {"ANewMasterStopsAgainWhoHadNotRegistered",
     {{"gathering, register worker:1, kill, master 2", "orders term c-worker-0; worker:1 told stop"}}},
    {"ANewMasterKillsAgainWhoDidNotLeave",
     {{"running, report worker:0 success, deadline, master 2", "orders kill c-worker-0"}}},
    {"ANewMasterOfAnEndedJobOnlyEndsItAgain",
     {{"start, kill enough, master 2", "epoch_began; orders end job; verdict says `enough`"}}},
    {"ALaunchThatTheSchedulerDoesNotKnowIsOrderedAgain",
     {{"gathering, reach c-worker-1", "nothing; orders launch worker:0#1 in c-worker-0"}}},
    {"AReachedSchedulerIsToldNothingOfWhoHasRegistered", {{"running, reach", "no orders"}}},
    // ---- what comes back by itself
    {"AnExecutorThatRegistersWithTheNewMasterChangesNothing",
     {{"running, master 2, register worker:0 running 100", "nothing; worker:0 pid 100"}}},
    {"AnExecutorWhoseTaskStartedMeanwhileTellsItByItsRegistration",
     {{"gathering, all-registered, master 2, register worker:0 running 4711", "attempt_ran; worker:0 pid 4711"}}},
    {"AnOutcomeThatNobodyHeardIsReportedToTheNewMaster",
     {{"job worker*1: running, master 2, register worker:0 ended, report worker:0 fails 3",
       "attempt_ended job_stopping; verdict exit 3"}}},
    {"TheCommandOfAFormedGangIsTheSameUnderEveryMaster",
     {{"running, note worker:0, master 2", "worker:0 told as noted"}}},
    {"AnEndJudgedByNobodyYetIsJudgedByTheNewMaster",
     {{"running, report worker:0 fails 3", "attempt_ended job_stopping"},
      {"replay -1, start 2", "epoch_began job_stopping; verdict of worker:0"}}},
};
TABLE_TEST(JobRecoveryTest, kRecovering, Script("worker*2"));

TEST(JobRecoveryTest, AnOldMastersEpochCannotBeginAgain) {
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
      {"Succeeds", {{{"worker", 0}, Success()}, {{"worker", 1}, Success()}}, {}},
      {"Fails", {{{"worker", 1}, Failure(3)}, {{"board", 0}, Failure(1)}}, {}},
      {"IsKilled", {}, JobState::kRunning},
      {"IsKilledWhileItGathers", {}, JobState::kGathering},
      {"IsKilledWhileItAllocates", {}, JobState::kAllocating},
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

// The orders that the decisions call for and that no later one shows to be done.
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

TEST_P(EveryPrefix, LeadsToTheSameVerdict) {
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

TEST_P(EveryPrefix, IsFollowedByTheOrdersStillToBeDone) {
  GangRun whole(ScriptOf({}));
  whole.ToTheEnd();

  StillToBeDone expected;
  for (size_t decisions = 1; decisions <= whole.journal().size(); ++decisions) {
    SCOPED_TRACE(StrCat("the master died at decision ", decisions));
    JobDriver driver(Gang());
    for (size_t i = 0; i < decisions; ++i) ASSERT_TRUE(driver.job().Evolve(whole.journal()[i]).ok());
    expected.See(whole.journal()[decisions - 1].body);

    const TurnResult turn = driver.Start({2});

    // Where the journal ends within a turn, the rest of that turn follows with its own orders.
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
                                  (std::get<1>(story.param) ? "AfterActing" : "BeforeActing");
                         });

}  // namespace
}  // namespace tony::am
