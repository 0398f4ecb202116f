// A new master goes on where the journal ends: it orders again what may not have been done, and the job ends as it
// would have ended.
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
using testing::UnorderedElementsAre;
using testing::UnorderedElementsAreArray;

JobSpec Gang() {
  return JobBuilder()
      .Role("board", 1, Completion::kSidecar)
      .Role("ps", 1, Completion::kUntracked)
      .Role("worker", 2)
      .Build();
}

// ---- what is ordered again

TEST(JobRecoveryTest, ANewMasterAsksAgainForWhatHasNotBeenGranted) {
  JobDriver driver(TwoWorkers());
  driver.Accepted();
  driver.Grant("worker:1");
  driver.Replay();

  const TurnResult turn = driver.Start({2});

  EXPECT_THAT(Decisions(turn), ElementsAre("epoch_began"));
  EXPECT_THAT(Orders(turn), UnorderedElementsAre("launch worker:1#1 in c-worker-1", "request worker:0#1"));
}

TEST(JobRecoveryTest, ANewMasterDoesNotOrderWhatIsKnownToBeDone) {
  JobDriver driver(TwoWorkers());
  driver.Running();
  driver.Replay();

  const TurnResult turn = driver.Start({2});

  EXPECT_THAT(Orders(turn), IsEmpty());
  EXPECT_EQ(driver.job().epoch(), Epoch{2});
  EXPECT_EQ(driver.CommandFor("worker:0").kind, Command::Kind::kStart);
}

TEST(JobRecoveryTest, ANewMasterStopsAgainWhoHadNotRegistered) {
  JobDriver driver(TwoWorkers());
  driver.Gathering();
  driver.Register("worker:1");
  driver.Kill();
  driver.Replay();

  const TurnResult turn = driver.Start({2});

  EXPECT_THAT(Orders(turn), ElementsAre("term c-worker-0"));
  EXPECT_EQ(driver.CommandFor("worker:1").kind, Command::Kind::kStop);
}

TEST(JobRecoveryTest, ANewMasterKillsAgainWhoDidNotLeave) {
  JobDriver driver(TwoWorkers());
  driver.Running();
  driver.Report("worker:0", Success());
  driver.PassToDeadline();
  driver.Replay();

  EXPECT_THAT(Orders(driver.Start({2})), ElementsAre("kill c-worker-0"));
}

TEST(JobRecoveryTest, ANewMasterOfAnEndedJobOnlyEndsItAgain) {
  JobDriver driver(TwoWorkers());
  driver.Accepted();
  driver.Kill("enough");
  driver.Replay();

  const TurnResult turn = driver.Start({2});

  EXPECT_THAT(Decisions(turn), ElementsAre("epoch_began"));
  EXPECT_THAT(Orders(turn), ElementsAre("end job"));
  EXPECT_EQ(driver.Status().verdict->message, "enough");
}

TEST(JobRecoveryTest, ALaunchThatTheSchedulerDoesNotKnowIsOrderedAgain) {
  JobDriver driver(TwoWorkers());
  driver.Gathering();

  const TurnResult turn = driver.Reach({ContainerOf("worker:1")});

  EXPECT_THAT(Decisions(turn), IsEmpty());
  EXPECT_THAT(Orders(turn), ElementsAre("launch worker:0#1 in c-worker-0"));
}

TEST(JobRecoveryTest, AReachedSchedulerIsToldNothingOfWhoHasRegistered) {
  JobDriver driver(TwoWorkers());
  driver.Running();

  EXPECT_THAT(Orders(driver.Reach({})), IsEmpty());
}

// ---- what comes back by itself

TEST(JobRecoveryTest, AnExecutorThatRegistersWithTheNewMasterChangesNothing) {
  JobDriver driver(TwoWorkers());
  driver.Running();
  driver.Replay();
  driver.Start({2});

  const TurnResult turn = driver.Register("worker:0", Phase::kRunning, 100);

  EXPECT_FALSE(turn.refusal);
  EXPECT_THAT(Decisions(turn), IsEmpty());
  EXPECT_EQ(driver.StatusOf("worker:0").pid, 100);
}

TEST(JobRecoveryTest, AnExecutorWhoseTaskStartedMeanwhileTellsItByItsRegistration) {
  JobDriver driver(TwoWorkers());
  driver.Gathering().RegisterAll();
  driver.Replay();
  driver.Start({2});

  EXPECT_THAT(Decisions(driver.Register("worker:0", Phase::kRunning, 4711)), ElementsAre("attempt_ran"));
  EXPECT_EQ(driver.StatusOf("worker:0").pid, 4711);
}

TEST(JobRecoveryTest, AnOutcomeThatNobodyHeardIsReportedToTheNewMaster) {
  JobDriver driver(JobBuilder().Role("worker", 1).Build());
  driver.Running();
  driver.Replay();
  driver.Start({2});
  driver.Register("worker:0", Phase::kEnded);

  EXPECT_THAT(Decisions(driver.Report("worker:0", Failure(3))), ElementsAre("attempt_ended", "job_stopping"));
  EXPECT_EQ(driver.job().verdict()->exit, Failure(3).exit);
}

TEST(JobRecoveryTest, TheCommandOfAFormedGangIsTheSameUnderEveryMaster) {
  JobDriver driver(TwoWorkers());
  driver.Running();
  const Command before = driver.CommandFor("worker:0");
  driver.Replay();
  driver.Start({2});

  EXPECT_EQ(driver.CommandFor("worker:0"), before);
}

TEST(JobRecoveryTest, AnEndJudgedByNobodyYetIsJudgedByTheNewMaster) {
  JobDriver driver(TwoWorkers());
  driver.Running();
  driver.Report("worker:0", Failure(3));
  ASSERT_EQ(Name(driver.journal().back()), "job_stopping");
  driver.Replay(driver.journal().size() - 1);

  const TurnResult turn = driver.Start({2});

  EXPECT_THAT(Decisions(turn), ElementsAre("epoch_began", "job_stopping"));
  EXPECT_EQ(driver.job().verdict()->attempt, AttemptOf("worker:0"));
}

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
      EXPECT_THAT(Orders(turn), UnorderedElementsAreArray(expected.Orders()));
    }
    for (const std::string& order : expected.Orders()) EXPECT_THAT(Orders(turn), Contains(order));
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
