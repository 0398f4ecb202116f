// Small tests of the checker for roles that wait for each other or need not succeed, for stages, and for tasks of
// several processes.
#include "tests/sim/history_checker.h"
#include "tests/sim/scenario.h"

namespace tony::sim {
namespace {

// ---- stages

constexpr char kInStagesPlan[] = "driver*1 ps*1:untracked worker*2 staged, driver:0 ps:0 publishes 1s, ps:0 runs 100s";

class StagedHistoryTest : public testing::Test {
 protected:
  void ExpectComplaint(const std::string& text) const { sim::ExpectComplaint(plan_, history_, text); }

  const Plan plan_ = PlanOf(kInStagesPlan);
  History history_ = RightHistory(plan_);
};

TEST_F(StagedHistoryTest, TheCheckerAcceptsACorrectHistory) {
  RewriteJournal(history_, [](std::vector<Decision>&) {});
  EXPECT_TRUE(HistoryChecker::Check(plan_.spec, history_).empty());
}

TEST_F(StagedHistoryTest, TheCheckerDetectsAStageThatOpensBeforeTheJournalHasTheValues) {
  RewriteJournal(history_, [](std::vector<Decision>& decisions) { std::erase_if(decisions, Is<ValuesPublished>); });
  ExpectComplaint("stage 1 was opened before driver:0 had published");
  ExpectComplaint("acknowledged values that are not in the journal");
}

TEST_F(StagedHistoryTest, TheCheckerDetectsATaskStartedBeforeTheJournalOpensItsStage) {
  RewriteJournal(history_, [](std::vector<Decision>& decisions) { std::erase_if(decisions, Is<StageOpened>); });
  ExpectComplaint("ps:0#1 is told to start before its stage was open");
  ExpectComplaint("worker:1#1 was started before its stage was open");
}

TEST_F(StagedHistoryTest, TheCheckerDetectsJournalledValuesThatDifferFromThePublishedValues) {
  RewriteEach<ValuesPublished>(history_, [](ValuesPublished& d) { d.values["ADDRESS"] += "!"; });
  ExpectComplaint("driver:0#1 published something else");
  ExpectComplaint("got another cluster spec");
}

TEST_F(StagedHistoryTest, TheCheckerDetectsAValueThatIsJournalledTwice) {
  RewriteJournal(history_, [](std::vector<Decision>& decisions) {
    const auto published = std::ranges::find_if(decisions, Is<ValuesPublished>);
    if (published != decisions.end()) decisions.insert(published, Decision(*published));
  });
  ExpectComplaint("driver:0#1 publishes what it may not");
}

TEST_F(StagedHistoryTest, TheCheckerDetectsTheLossOfPublishedValues) {
  RewriteEach<AttemptEnded>(history_, [](AttemptEnded& d) {
    if (d.attempt.task == (TaskId{"driver", 0})) d.outcome.cls = OutcomeClass::kUserError;
  });
  ExpectComplaint("what driver:0#1 had published was lost");
}

// ---- roles that wait for others

constexpr char kPreparedPlan[] = "data*1 ps*1:untracked worker*2:waits=data pytorch, data:0 runs 1s, ps:0 runs 100s";

class DependentHistoryTest : public testing::Test {
 protected:
  void ExpectComplaint(const std::string& text) const { sim::ExpectComplaint(plan_, history_, text); }

  Plan plan_ = PlanOf(kPreparedPlan);
  History history_ = RightHistory(plan_);
};

TEST_F(DependentHistoryTest, TheCheckerAcceptsACorrectHistory) {
  RewriteJournal(history_, [](std::vector<Decision>&) {});
  EXPECT_TRUE(HistoryChecker::Check(plan_.spec, history_).empty());
}

TEST_F(DependentHistoryTest, TheCheckerDetectsAContainerRequestBeforeThePrerequisiteRolesSucceed) {
  RewriteEach<ContainersRequested>(history_, [](ContainersRequested& d) {
    if (d.attempts.front().task == (TaskId{"data", 0})) d.attempts.push_back({(TaskId{"worker", 0}), 1});
  });
  ExpectComplaint("containers were asked for whose turn it is not");
}

TEST_F(DependentHistoryTest, TheCheckerDetectsAContainerRequestForOnlySomeTasksOfARole) {
  RewriteEach<ContainersRequested>(history_, [](ContainersRequested& d) {
    std::erase_if(d.attempts, [](const AttemptId& id) { return id.task == TaskId{"worker", 1}; });
  });
  ExpectComplaint("containers were asked for whose turn it is not, or not for all others");
}

TEST_F(DependentHistoryTest, TheCheckerDetectsAGangRestartThatIncludesASucceededPrerequisiteRole) {
  plan_ = PlanOf(
      "data*1 ps*1:untracked worker*2:waits=data pytorch gang=1, data:0 runs 1s, ps:0 runs 100s, worker:0 first fails "
      "1");
  history_ = RightHistory(plan_);
  RewriteEach<RestartDecided>(history_, [](RestartDecided& d) { d.tasks.push_back((TaskId{"data", 0})); });
  ExpectComplaint("restart 1 of the wrong tasks");
}

TEST_F(DependentHistoryTest, TheCheckerDetectsARoleThatIsIgnoredBeforeItsTimeout) {
  plan_ = PlanOf("data*1 ps*1:untracked worker*2:left=data/4s pytorch, data:0 runs 1s, ps:0 runs 100s");
  history_ = RightHistory(plan_);
  plan_.spec.roles.back().outlives.front().limit = Duration(60'000);
  ExpectComplaint("role worker is left alone too early");
}

// ---- roles with some tasks that may fail

constexpr char kShardsPlan[] =
    "collector*1 shard*5:succeeds=2, shard:0 runs 2s fails 3, shard:1 runs 4s, shard:2 runs 6s, shard:3 shard:4 runs "
    "300s";

TEST(CompletionScenarioTest, TheCheckerDetectsAToleratedFailureThatIsNotInTheJournal) {
  History history = RightHistory(PlanOf(kShardsPlan));
  RewriteJournal(history, [](auto& decisions) { std::erase_if(decisions, Is<FailureTolerated>); });
  ExpectComplaint(PlanOf(kShardsPlan), history, "although the job goes on without shard:0#1");
}

TEST(CompletionScenarioTest, TheCheckerDetectsAToleratedFailureThatShouldFailTheJob) {
  Plan plan = PlanOf(kShardsPlan);
  const History history = RightHistory(plan);
  plan.spec.roles[1].min_failed = 1;
  ExpectComplaint(plan, history, "although the job has to stop");
}

TEST(CompletionScenarioTest, TheCheckerDetectsARoleThatIsNotStoppedAfterItReachesMinSucceeded) {
  History history = RightHistory(PlanOf(kShardsPlan));
  RewriteJournal(history, [](auto& decisions) { std::erase_if(decisions, Is<RoleFinished>); });
  ExpectComplaint(PlanOf(kShardsPlan), history, "although enough of shard have succeeded");
}

TEST(CompletionScenarioTest, TheCheckerDetectsARoleThatIsStoppedBeforeItReachesMinSucceeded) {
  Plan plan = PlanOf(kShardsPlan);
  const History history = RightHistory(plan);
  plan.spec.roles[1].min_succeeded = 3;
  ExpectComplaint(plan, history, "role shard is finished for no reason");
}

TEST(CompletionScenarioTest, TheCheckerDetectsAVerdictThatNamesTheLastInsteadOfTheFirstFailure) {
  Plan plan = PlanOf(kShardsPlan);
  plan.spec.roles[1].min_failed = 2;
  plan.tasks[TaskId{"shard", 1}].process.exit_code = 4;
  History history = RightHistory(plan);
  RewriteEach<JobStopping>(history, [](JobStopping& d) { d.verdict.attempt = AttemptId{TaskId{"shard", 1}, 1}; });
  ExpectComplaint(plan, history, "but shard:0#1 failed");
}

// ---- tasks of several processes

constexpr char kProcessesPlan[] = "worker*2:processes=3 pytorch gang=1, all runs 10s beside runs 2s beside runs 12s";
constexpr char kFailingProcess[] =
    "worker*2:processes=3 pytorch gang=1, all runs 10s beside runs 2s beside runs 12s, worker:0 first alone beside "
    "runs 100s deaf beside runs 3s fails 7";

TEST(ProcessesHistoryTest, TheCheckerDetectsATaskThatSucceedsDespiteAFailedProcess) {
  const Plan plan = PlanOf(kProcessesPlan);
  History history = RightHistory(plan);
  FirstOf<ProcessEnded>(history).exit.value = 7;
  ExpectComplaint(plan, history, "did not succeed");
}

TEST(ProcessesHistoryTest, TheCheckerDetectsAnAttemptThatReportsItsEndWhileAProcessStillRuns) {
  const Plan plan = PlanOf(kFailingProcess);
  History history = RightHistory(plan);
  const auto killed = std::ranges::find_if(history.events(), [](const Seen& seen) {
    const auto* ended = std::get_if<ProcessEnded>(&seen.event);
    return ended && ended->exit == ExitStatus{ExitStatus::Kind::kSignaled, 9};
  });
  ASSERT_NE(killed, history.events().end());
  history.events().erase(killed);
  ExpectComplaint(plan, history, "worker:0#1 has reported its end, and a process of it runs");
}

TEST(ProcessesHistoryTest, TheCheckerDetectsAnOutcomeThatNamesTheWrongProcess) {
  const Plan plan = PlanOf(kFailingProcess);
  History history = RightHistory(plan);
  RewriteEach<AttemptEnded>(history, [](AttemptEnded& d) {
    if (d.outcome.process) d.outcome.process = 0;
  });
  ExpectComplaint(plan, history, "worker:0#1 has another exit status in the journal");
}

TEST(ProcessesHistoryTest, TheCheckerDetectsAProcessThatIsStartedTwice) {
  const Plan plan = PlanOf(kProcessesPlan);
  History history = RightHistory(plan);
  const ProcessStarted start = FirstOf<ProcessStarted>(history);
  InsertBefore(history, First<ProcessEnded>(history), start);
  ExpectComplaint(plan, history, "was started again");
}

}  // namespace
}  // namespace tony::sim
