#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/framework/framework.h"

namespace tony {
namespace {

using enum FrameworkKind;
using enum Completion;
using testing::ElementsAre;
using testing::IsEmpty;

RoleSpec Role(const std::string& name, Completion completion = kTracked) {
  return {.name = name, .command = "true", .completion = completion};
}

JobSpec SpecOf(FrameworkKind framework, const std::vector<RoleSpec>& roles) {
  JobSpec spec;
  spec.framework = framework;
  spec.roles = roles;
  return spec;
}

std::string ScopeOf(const JobSpec& spec, const std::string& role, bool same_address = true) {
  return std::string(ToString(SmallestScope(spec, *spec.FindRole(role), same_address)));
}

TEST(RestartScopeTest, AFailedTaskOfACollectiveFrameworkRestartsTheWholeGang) {
  for (const auto framework : {kPytorch, kJax, kTensorflow, kLightgbm, kXgboost}) {
    EXPECT_EQ(ScopeOf(SpecOf(framework, {Role("worker")}), "worker"), "gang");
  }
}

TEST(RestartScopeTest, ATensorflowWorkerWithParameterServersRestartsAloneIfItKeepsItsAddress) {
  const JobSpec spec = SpecOf(kTensorflow, {Role("chief"), Role("ps", kUntracked), Role("worker")});
  EXPECT_EQ(ScopeOf(spec, "worker", true), "task");
  EXPECT_EQ(ScopeOf(spec, "worker", false), "gang");
  EXPECT_EQ(ScopeOf(spec, "ps"), "gang");
  EXPECT_EQ(ScopeOf(spec, "chief"), "gang");
}

TEST(RestartScopeTest, StandaloneTasksAndEvaluatorsAndSidecarsRestartAlone) {
  EXPECT_EQ(ScopeOf(SpecOf(kStandalone, {Role("driver")}), "driver", false), "task");
  const JobSpec spec = SpecOf(kTensorflow, {Role("evaluator"), Role("tensorboard", kSidecar), Role("worker")});
  EXPECT_EQ(ScopeOf(spec, "evaluator", false), "task");
  EXPECT_EQ(ScopeOf(spec, "tensorboard", false), "task");
}

TEST(RestartScopeTest, AnFcfsTaskRestartsAlone) {
  JobSpec spec = SpecOf(kTensorflow, {Role("worker")});
  spec.mode = DistributedMode::kFcfs;
  EXPECT_EQ(ScopeOf(spec, "worker", false), "task");
}

TEST(RestartScopeTest, AFailedXgboostTrackerRestartsTheGang) {
  EXPECT_EQ(ScopeOf(SpecOf(kXgboost, {Role("tracker"), Role("worker")}), "tracker"), "gang");
}

TEST(RestartScopeTest, ARayNodeRestartsAloneAndTheHeadRestartsAllNodes) {
  const JobSpec spec = SpecOf(kRay, {Role("head"), Role("worker", kUntracked)});
  EXPECT_EQ(ScopeOf(spec, "worker", false), "task");
  EXPECT_EQ(ScopeOf(spec, "head"), "gang");
}

TEST(RestartScopeTest, EveryTaskOfMxnetAndHorovodRestartsTheGang) {
  const JobSpec mxnet = SpecOf(kMxnet, {Role("scheduler"), Role("server", kUntracked), Role("worker")});
  const JobSpec horovod = SpecOf(kHorovod, {Role("driver", kUntracked), Role("worker")});
  for (const JobSpec& spec : {mxnet, horovod})
    for (const RoleSpec& role : spec.roles) EXPECT_EQ(ScopeOf(spec, role.name), "gang") << role.name;
}

TEST(RestartScopeTest, AnUntrackedTaskRestartsAloneIfItKeepsItsAddress) {
  const JobSpec spec = SpecOf(kPytorch, {Role("store", kUntracked), Role("worker")});
  EXPECT_EQ(ScopeOf(spec, "store", true), "task");
  EXPECT_EQ(ScopeOf(spec, "store", false), "gang");
}

TEST(RestartScopeTest, TheFailureOfATaskThatPublishesValuesRestartsTheWholeGang) {
  const JobSpec spec = SpecOf(kStaged, {Role("driver"), Role("ps"), Role("worker")});
  EXPECT_EQ(ScopeOf(spec, "driver"), "gang");
  EXPECT_EQ(ScopeOf(spec, "ps"), "gang");
  EXPECT_EQ(ScopeOf(spec, "worker", true), "task");
  EXPECT_EQ(ScopeOf(spec, "worker", false), "gang");
}

TEST(RestartScopeTest, AWarningNamesARestartScopeThatIsTooSmallForTheFramework) {
  JobSpec spec = SpecOf(kJax, {Role("tensorboard", kSidecar), Role("worker")});
  EXPECT_THAT(ScopeWarnings(spec), IsEmpty());
  spec.roles[0].restart_scope = RestartScope::kTask;
  spec.roles[1].restart_scope = RestartScope::kJob;
  EXPECT_THAT(ScopeWarnings(spec), IsEmpty());
  spec.roles[1].restart_scope = RestartScope::kRole;
  EXPECT_THAT(ScopeWarnings(spec), ElementsAre("role worker: restart scope role is smaller than gang, which jax needs: "
                                               "tasks that keep running may hang, or compute wrong results"));
}

TEST(RestartScopeTest, ToleratedTaskFailuresInACollectiveFrameworkCauseAWarning) {
  JobSpec spec = SpecOf(kPytorch, {Role("board", kSidecar), Role("worker")});
  spec.roles[1].instances = 3;
  EXPECT_THAT(ToleranceWarnings(spec), IsEmpty());
  spec.roles[1].min_succeeded = 2;
  EXPECT_THAT(ToleranceWarnings(spec),
              ElementsAre("role worker: its tasks may fail without failing the job, but a collective of pytorch cannot "
                          "continue without one of its tasks: the other tasks may hang; for independent tasks set "
                          "tony.application.distributed-mode=FCFS"));
  spec.mode = DistributedMode::kFcfs;
  EXPECT_THAT(ToleranceWarnings(spec), IsEmpty());
}

TEST(RestartScopeTest, TonysCompletionRuleCausesAWarningForWorkersButNotForTheChief) {
  JobSpec spec = SpecOf(kPytorch, {Role("chief"), Role("worker")});
  spec.completion_rule = CompletionRule::kTony;
  for (RoleSpec& role : spec.roles) role.min_failed = 0;
  EXPECT_EQ(ToleranceWarnings(spec).size(), 1u) << "of the worker alone";
  spec.framework = kStandalone;
  EXPECT_THAT(ToleranceWarnings(spec), IsEmpty());
}

}  // namespace
}  // namespace tony
