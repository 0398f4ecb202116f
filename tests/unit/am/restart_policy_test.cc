#include <gtest/gtest.h>

#include "am/core/restarts.h"
#include "tests/support/job_builder.h"
#include "tests/unit/am/usual_jobs.h"

namespace tony::am {
namespace {

constexpr Instant kNow = JobDriver::kStart;
constexpr Duration kMinute{60'000};

// A standalone job, whose smallest restart scope is the task.
JobBuilder Tasks() {
  return JobBuilder()
      .Role("worker", 3)
      .Role("reader", 2)
      .Framework(FrameworkKind::kStandalone)
      .Backoff(Duration(1000), Duration(8000));
}

JobSpec With(const JobSpec& spec, const std::string& role, std::optional<RestartScope> scope,
             std::optional<int> restarts) {
  JobSpec changed = spec;
  for (RoleSpec& one : changed.roles) {
    if (one.name != role) continue;
    one.restart_scope = scope;
    one.restarts = restarts;
  }
  return changed;
}

struct Judge {
  JobSpec spec;
  std::vector<PastRestart> past = {};
  bool gang_has_formed = true;
  bool same_address = true;

  std::variant<RestartPlan, NoRestart> operator()(std::string_view task, const Outcome& outcome) const {
    return PlanRestart(spec, {{AttemptOf(task), "node-7", &outcome}, gang_has_formed, same_address}, past, kNow);
  }
  // Returns the plan as text, e.g. "task" or "gang free after 2000"; without a restart, the reason.
  std::string Say(std::string_view task, const Outcome& outcome) const {
    const auto judged = (*this)(task, outcome);
    if (const auto* none = std::get_if<NoRestart>(&judged)) return none->why.empty() ? "no" : none->why;
    const RestartPlan& plan = std::get<RestartPlan>(judged);
    std::string text(ToString(plan.scope));
    if (!plan.charged) text += " free";
    if (plan.delay.count() > 0) text += " after " + std::to_string(plan.delay.count());
    return text;
  }
};

Outcome Of(OutcomeClass cls, Advice advice = Advice::kNone) { return {.cls = cls, .advice = advice}; }
PastRestart Charged(RestartScope scope, std::string_view cause, Duration ago = Duration(0)) {
  return {kNow - ago, scope, AttemptOf(cause).task, true};
}
PastRestart Free(std::string_view cause, Duration ago = Duration(0)) {
  return {kNow - ago, kTask, AttemptOf(cause).task, false};
}

// ---- which budget pays

TEST(RestartPolicyTest, AProgramFailureCausesNoRestartWithoutARestartBudget) {
  EXPECT_EQ((Judge{Tasks().Build()}.Say("worker:0", Failure(1))), "no");
}

TEST(RestartPolicyTest, LostAndPreemptedTasksRestartEvenWithoutATaskRestartBudget) {
  for (const auto cls : {OutcomeClass::kNodeLost, OutcomeClass::kPreempted, OutcomeClass::kInfra})
    EXPECT_EQ((Judge{Tasks().Build()}.Say("worker:0", Of(cls))), "task free") << ToString(cls);
}

TEST(RestartPolicyTest, RestartsAfterProgramFailuresUseTheTaskRestartBudget) {
  for (const auto cls : {OutcomeClass::kUserError, OutcomeClass::kHung, OutcomeClass::kTimeout})
    EXPECT_EQ((Judge{Tasks().Restarts(kTask, 1).Build()}.Say("worker:0", Of(cls))), "task") << ToString(cls);
}

TEST(RestartPolicyTest, NoRestartFollowsAnOomOrAConfigurationErrorOrAKill) {
  const Judge judge{Tasks().Restarts(kTask, 9).Restarts(kGang, 9).Build()};
  for (const auto cls :
       {OutcomeClass::kUserConfig, OutcomeClass::kOom, OutcomeClass::kKilled, OutcomeClass::kAbandoned})
    EXPECT_EQ(judge.Say("worker:0", Of(cls)), "no") << ToString(cls);
}

TEST(RestartPolicyTest, ATaskRestartsAfterATransientFailureButNeverAfterAPermanentFailure) {
  const Judge judge{Tasks().Restarts(kTask, 1).Build()};
  EXPECT_EQ(judge.Say("worker:0", Of(OutcomeClass::kUserError, Advice::kTransient)), "task free");
  EXPECT_EQ(judge.Say("worker:0", Of(OutcomeClass::kUserError, Advice::kPermanent)), "no");
  EXPECT_EQ(judge.Say("worker:0", Of(OutcomeClass::kOom, Advice::kTransient)), "task free");
}

// ---- the budget for lost tasks

TEST(RestartPolicyTest, TheBudgetForLostTasksIsSharedByTheWholeJob) {
  Judge judge{Tasks().LostRestarts(2).Build(), {Free("worker:0"), Free("reader:0")}};
  EXPECT_EQ(judge.Say("worker:1", Of(OutcomeClass::kNodeLost)), "no");
  judge.past.pop_back();
  EXPECT_EQ(judge.Say("worker:1", Of(OutcomeClass::kNodeLost)), "task free");
}

TEST(RestartPolicyTest, RestartsAfterTaskFailuresAndAfterLostContainersHaveSeparateBudgets) {
  const Judge judge{Tasks().LostRestarts(1).Restarts(kTask, 1).Build()};
  Judge after_free = judge, after_charged = judge;
  after_free.past = {Free("worker:1")};
  after_charged.past = {Charged(kTask, "worker:1")};
  EXPECT_EQ(after_free.Say("worker:0", Failure(1)), "task");
  EXPECT_EQ(after_charged.Say("worker:0", Of(OutcomeClass::kNodeLost)), "task free");
}

TEST(RestartPolicyTest, ALostTaskUsesItsTaskRestartBudgetOnceTheBudgetForLostTasksIsUsedUp) {
  const Judge judge{Tasks().LostRestarts(1).Restarts(kTask, 1).Build(), {Free("worker:0")}};
  EXPECT_EQ(judge.Say("worker:0", Of(OutcomeClass::kNodeLost)), "task");
}

TEST(RestartPolicyTest, LossesOutsideTheTimeWindowDoNotUseUpTheBudgetForLostTasks) {
  Judge judge{Tasks().LostRestarts(1, kMinute).Build(), {Free("worker:0", kMinute - Duration(1))}};
  EXPECT_EQ(judge.Say("worker:1", Of(OutcomeClass::kInfra)), "no");
  judge.past = {Free("worker:0", kMinute)};
  EXPECT_EQ(judge.Say("worker:1", Of(OutcomeClass::kInfra)), "task free");
}

// ---- budgets per task, role, gang and job

TEST(RestartPolicyTest, EachTaskHasItsOwnRestartBudget) {
  const Judge judge{Tasks().Restarts(kTask, 1).Build(), {Charged(kTask, "worker:0")}};
  EXPECT_EQ(judge.Say("worker:0", Failure(1)), "restart budget used up: task 1 of 1");
  EXPECT_EQ(judge.Say("worker:1", Failure(1)), "task");
}

TEST(RestartPolicyTest, EachRoleHasItsOwnRestartBudget) {
  const Judge judge{Tasks().Restarts(kRole, 1).Build(), {Charged(kRole, "worker:0")}};
  EXPECT_EQ(judge.Say("worker:1", Failure(1)), "restart budget used up: role 1 of 1");
  EXPECT_EQ(judge.Say("reader:0", Failure(1)), "role");
}

TEST(RestartPolicyTest, GangAndJobRestartBudgetsAreSharedByAllTasks) {
  for (const RestartScope level : {kGang, kJob}) {
    const Judge judge{Tasks().Restarts(level, 1).Build(), {Charged(level, "worker:0")}};
    EXPECT_EQ(judge.Say("reader:1", Failure(1)), "restart budget used up: " + std::string(ToString(level)) + " 1 of 1");
  }
}

TEST(RestartPolicyTest, RestartsEscalateFromTaskToRoleToGangToJob) {
  Judge judge{Tasks().Restarts(kTask, 1).Restarts(kRole, 1).Restarts(kGang, 1).Restarts(kJob, 1).Build()};
  for (const RestartScope level : {kTask, kRole, kGang, kJob}) {
    EXPECT_EQ(judge.Say("worker:0", Failure(1)), ToString(level));
    judge.past.push_back(Charged(level, "worker:0"));
  }
  EXPECT_EQ(judge.Say("worker:0", Failure(1)),
            "restart budget used up: task 1 of 1, role 1 of 1, gang 1 of 1, job 1 of 1");
}

TEST(RestartPolicyTest, AScopeWithoutARestartBudgetIsSkippedAndNotNamedInTheVerdict) {
  Judge judge{Tasks().Restarts(kTask, 1).Restarts(kJob, 1).Build(), {Charged(kTask, "worker:0")}};
  EXPECT_EQ(judge.Say("worker:0", Failure(1)), "job");
  judge.past.push_back(Charged(kJob, "worker:0"));
  EXPECT_EQ(judge.Say("worker:0", Failure(1)), "restart budget used up: task 1 of 1, job 1 of 1");
}

TEST(RestartPolicyTest, ATaskRestartBudgetIsIgnoredIfTheFrameworkRestartsTheWholeGang) {
  const JobSpec collective = Tasks().Framework(FrameworkKind::kPytorch).Restarts(kTask, 9).Build();
  EXPECT_EQ((Judge{collective}.Say("worker:0", Failure(1))), "no");
}

TEST(RestartPolicyTest, ARestartCountsAgainstTheBudgetUntilTheExactEndOfTheTimeWindow) {
  Judge judge{Tasks().Restarts(kTask, 1, kMinute).Build(), {Charged(kTask, "worker:0", kMinute - Duration(1))}};
  EXPECT_EQ(judge.Say("worker:0", Failure(1)), "restart budget used up: task 1 of 1");
  judge.past = {Charged(kTask, "worker:0", kMinute)};
  EXPECT_EQ(judge.Say("worker:0", Failure(1)), "task");
}

TEST(RestartPolicyTest, ARestartAlwaysCountsAgainstABudgetWithoutATimeWindow) {
  const Judge judge{Tasks().Restarts(kTask, 1).Build(), {Charged(kTask, "worker:0", 1'000'000 * kMinute)}};
  EXPECT_EQ(judge.Say("worker:0", Failure(1)), "restart budget used up: task 1 of 1");
}

// ---- scopes

TEST(RestartPolicyTest, TheFrameworkSetsTheSmallestRestartScope) {
  const JobSpec spec = Tasks().Framework(FrameworkKind::kPytorch).Restarts(kTask, 1).Restarts(kGang, 1).Build();
  EXPECT_EQ((Judge{spec}.Say("worker:0", Failure(1))), "gang");
  EXPECT_EQ((Judge{spec}.Say("worker:0", Of(OutcomeClass::kNodeLost))), "gang free");
}

TEST(RestartPolicyTest, TheRestartScopeOfARoleOverridesTheScopeOfTheFramework) {
  const JobSpec pytorch = Tasks().Framework(FrameworkKind::kPytorch).Build();
  EXPECT_EQ((Judge{With(pytorch, "worker", kRole, {})}.Say("worker:0", Of(OutcomeClass::kNodeLost))), "role free");
  EXPECT_EQ((Judge{With(pytorch, "worker", kJob, {})}.Say("worker:0", Of(OutcomeClass::kNodeLost))), "job free");
  EXPECT_EQ((Judge{With(pytorch, "worker", kRole, {})}.Say("reader:0", Of(OutcomeClass::kNodeLost))), "gang free");
}

TEST(RestartPolicyTest, AWorkerWithParameterServersRestartsTheGangIfItsAddressChanges) {
  const JobSpec spec = JobBuilder().Role("worker", 2).Role("ps", 1, Completion::kUntracked).Build();
  EXPECT_EQ((Judge{.spec = spec, .same_address = true}.Say("worker:0", Of(OutcomeClass::kInfra))), "task free");
  EXPECT_EQ((Judge{.spec = spec, .same_address = false}.Say("worker:0", Of(OutcomeClass::kInfra))), "gang free");
}

TEST(RestartPolicyTest, ATaskLostBeforeTheGangHasFormedRestartsAlone) {
  const JobSpec spec = With(Tasks().Framework(FrameworkKind::kPytorch).Build(), "worker", kJob, {});
  EXPECT_EQ((Judge{.spec = spec, .gang_has_formed = false}.Say("worker:0", Of(OutcomeClass::kInfra))), "task free");
}

TEST(RestartPolicyTest, ASidecarRestartsAlone) {
  const JobSpec spec = JobBuilder().Role("worker", 1).Role("board", 1, Completion::kSidecar).Restarts(kTask, 1).Build();
  EXPECT_EQ((Judge{spec}.Say("board:0", Failure(1))), "task");
}

TEST(RestartPolicyTest, AFailedSidecarRestartsNoOtherTaskByDefault) {
  const JobBuilder builder = JobBuilder().Role("worker", 1).Role("board", 1, Completion::kSidecar);
  const JobSpec spec = JobBuilder(builder).Restarts(kTask, 1).Restarts(kGang, 5).Restarts(kJob, 5).Build();
  EXPECT_EQ((Judge{spec, {Charged(kTask, "board:0")}}.Say("board:0", Failure(1))),
            "restart budget used up: task 1 of 1");
  const JobSpec none = JobBuilder(builder).Restarts(kGang, 5).Build();
  EXPECT_EQ((Judge{none}.Say("board:0", Failure(1))), "no");
  EXPECT_EQ((Judge{With(none, "board", kGang, {})}.Say("board:0", Failure(1))), "gang") << "the job asks for it";
  EXPECT_EQ((Judge{.spec = none, .gang_has_formed = false}.Say("board:0", Failure(1))), "gang") << "it is missed";
}

TEST(RestartPolicyTest, AFailedSidecarRestartsOnlyItsRoleIfTheSidecarOutlivesGangRestarts) {
  JobSpec spec =
      JobBuilder().Role("worker", 1).Role("board", 1, Completion::kSidecar).OutlivesRestarts("board").Build();
  spec = With(spec, "board", kGang, {});
  EXPECT_EQ((Judge{spec}.Say("board:0", Of(OutcomeClass::kInfra))), "role free");
}

// ---- a role's own budget

TEST(RestartPolicyTest, ARolesOwnRestartBudgetAppliesToTheSmallestRestartScopeOfTheRole) {
  const JobSpec spec = With(Tasks().Restarts(kTask, 9).Build(), "worker", {}, 1);
  const Judge judge{spec, {Charged(kTask, "worker:0")}};
  EXPECT_EQ(judge.Say("worker:0", Failure(1)), "restart budget used up: task 1 of 1");
  EXPECT_EQ(judge.Say("worker:1", Failure(1)), "task");
  EXPECT_EQ(judge.Say("reader:0", Failure(1)), "task");
}

TEST(RestartPolicyTest, ARolesBudgetForGangRestartsCountsOnlyRestartsCausedByItsTasks) {
  const JobSpec spec = With(Tasks().Framework(FrameworkKind::kPytorch).Build(), "worker", {}, 1);
  EXPECT_EQ((Judge{spec, {Charged(kGang, "reader:0")}}.Say("worker:0", Failure(1))), "gang");
  EXPECT_EQ((Judge{spec, {Charged(kGang, "worker:1")}}.Say("worker:0", Failure(1))),
            "restart budget used up: gang 1 of 1");
  EXPECT_EQ((Judge{spec}.Say("reader:0", Failure(1))), "no");
}

TEST(RestartPolicyTest, ARoleWithARestartBudgetOfZeroIsNotRestarted) {
  const JobSpec spec = With(Tasks().Restarts(kTask, 3).Build(), "worker", {}, 0);
  EXPECT_EQ((Judge{spec}.Say("worker:0", Failure(1))), "no");
}

TEST(RestartPolicyTest, ARolesOwnBudgetInheritsTheTimeWindowOfItsRestartScope) {
  const JobSpec spec = With(Tasks().Restarts(kTask, 5, kMinute).Build(), "worker", {}, 1);
  EXPECT_EQ((Judge{spec, {Charged(kTask, "worker:0", kMinute)}}.Say("worker:0", Failure(1))), "task");
}

// ---- back-off

TEST(RestartPolicyTest, TheBackOffDoublesAfterTheFirstRestartUpToALimit) {
  Judge judge{Tasks().Restarts(kTask, 9).Build()};
  for (const char* expected : {"task", "task after 1000", "task after 2000", "task after 4000", "task after 8000",
                               "task after 8000", "task after 8000"}) {
    EXPECT_EQ(judge.Say("worker:0", Failure(1)), expected);
    judge.past.push_back(Charged(kTask, "worker:0"));
  }
}

TEST(RestartPolicyTest, TheBackOffIsCappedAtALimitBetweenTwoDoublings) {
  Judge judge{Tasks().Restarts(kTask, 9).Backoff(Duration(1000), Duration(3000)).Build()};
  judge.past.assign(3, Charged(kTask, "worker:0"));
  EXPECT_EQ(judge.Say("worker:0", Failure(1)), "task after 3000");
}

TEST(RestartPolicyTest, AnInitialBackOffAboveTheLimitIsCappedAtTheLimit) {
  const Judge judge{Tasks().Restarts(kTask, 9).Backoff(Duration(5000), Duration(3000)).Build(),
                    {Charged(kTask, "worker:0")}};
  EXPECT_EQ(judge.Say("worker:0", Failure(1)), "task after 3000");
}

TEST(RestartPolicyTest, EveryRestartIsImmediateIfTheBackOffIsZero) {
  Judge judge{Tasks().Restarts(kTask, 9).Backoff(Duration(0), Duration(0)).Build()};
  judge.past.assign(5, Charged(kTask, "worker:0"));
  EXPECT_EQ(judge.Say("worker:0", Failure(1)), "task");
}

TEST(RestartPolicyTest, EachRestartScopeHasItsOwnBackOff) {
  const Judge judge{Tasks().Restarts(kTask, 2).Restarts(kGang, 2).Build(),
                    {Charged(kTask, "worker:0"), Charged(kTask, "worker:0")}};
  EXPECT_EQ(judge.Say("worker:0", Failure(1)), "gang");
}

TEST(RestartPolicyTest, TheBackOffAfterLossesGrowsSeparatelyForEachTask) {
  const Judge judge{Tasks().Build(), {Free("worker:0"), Free("worker:0")}};
  EXPECT_EQ(judge.Say("worker:0", Of(OutcomeClass::kNodeLost)), "task free after 2000");
  EXPECT_EQ(judge.Say("worker:1", Of(OutcomeClass::kNodeLost)), "task free");
}

TEST(RestartPolicyTest, LossesOutsideTheTimeWindowDoNotLengthenTheBackOff) {
  const Judge judge{Tasks().LostRestarts(9, kMinute).Build(), {Free("worker:0", kMinute), Free("worker:0")}};
  EXPECT_EQ(judge.Say("worker:0", Of(OutcomeClass::kNodeLost)), "task free after 1000");
}

}  // namespace
}  // namespace tony::am
