// Jobs of which some tasks may fail, or are not needed, and histories of them in which one thing is made wrong.
#include "tests/sim/altered_history.h"
#include "tests/sim/scenario.h"

namespace tony::sim {
namespace {

const TaskId kCollector{"collector", 0};
TaskId Shard(int index) { return {"shard", index}; }

// Of five shards one fails after 2 s, two succeed after 4 and 6 s, which is enough; then those that run for minutes are
// stopped, while the collector goes on to 10 s.
Plan Shards() {
  Plan plan = QuietPlan(0);
  plan.spec.roles = {{.name = "collector", .command = "collect"},
                     {.name = "shard", .instances = 5, .command = "infer", .min_succeeded = 2}};
  plan.tasks = {{kCollector, {}}};
  for (int index = 0; index < 5; ++index) plan.tasks[Shard(index)].process.run = Duration(300'000);
  plan.tasks[Shard(0)].process = {.run = Duration(2'000), .exit_code = 3};
  plan.tasks[Shard(1)].process.run = Duration(4'000);
  plan.tasks[Shard(2)].process.run = Duration(6'000);
  return plan;
}

TEST(CompletionScenarioTest, ARoleOfWhichEnoughHaveSucceededIsStopped) {
  const Plan plan = Shards();
  World world(plan);
  world.Run();
  ASSERT_TRUE(IsRight(plan, world));
  ExpectVerdict(world, FinalState::kSucceeded, OutcomeClass::kSuccess);
  EXPECT_EQ(Decided<FailureTolerated>(world.history()).size(), 1u);
  EXPECT_EQ(Decided<RoleFinished>(world.history()).size(), 1u);
}

TEST(CompletionScenarioTest, AnAmMayCrashAtEveryStep) {
  CrashAtEveryStep(Shards(), FinalState::kSucceeded, OutcomeClass::kSuccess);
}

TEST(CompletionScenarioTest, TooManyFailuresFailTheJobWhereverAnAmCrashes) {
  Plan plan = Shards();
  for (int index = 1; index < 4; ++index) plan.tasks[Shard(index)].process = {.run = Duration(3'000), .exit_code = 4};
  CrashAtEveryStep(plan, FinalState::kFailed, OutcomeClass::kUserError);
}

TEST(CompletionScenarioTest, ByTonysRuleTheChiefDecides) {
  Plan plan = QuietPlan(3);
  plan.spec.completion_rule = CompletionRule::kTony;
  plan.spec.roles[0].min_failed = 0;
  plan.tasks[kWorker1].process = {.run = Duration(1'000), .exit_code = 1};
  CrashAtEveryStep(plan, FinalState::kSucceeded, OutcomeClass::kSuccess);
  plan.tasks[kWorker0].process = {.run = Duration(2'000), .exit_code = 1};
  CrashAtEveryStep(plan, FinalState::kFailed, OutcomeClass::kUserError);
}

TEST(CompletionScenarioTest, AGangThatStartsAgainBeginsWithAllOfARole) {
  Plan plan = Shards();
  plan.spec.restart.levels[static_cast<size_t>(RestartScope::kGang)].most = 1;
  plan.spec.roles[1].restarts = 0;
  plan.tasks[Shard(0)].process.exit_code = 194;  // for good
  plan.tasks[kCollector].earlier = {{.run = Duration(8'000), .exit_code = 1}};
  CrashAtEveryStep(plan, FinalState::kSucceeded, OutcomeClass::kSuccess);
  World world(plan);
  world.Run();
  EXPECT_EQ(Decided<RoleFinished>(world.history()).size(), 2u);
}

TEST(CompletionScenarioTest, AToleratedFailureThatIsNotSaidIsNoticed) {
  History history = RightHistory(Shards());
  RewriteJournal(history, [](auto& decisions) { std::erase_if(decisions, Is<FailureTolerated>); });
  ExpectComplaint(Shards(), history, "although the job goes on without shard:0#1");
}

TEST(CompletionScenarioTest, AFailureThatIsToleratedForNoReasonIsNoticed) {
  Plan plan = Shards();
  const History history = RightHistory(plan);
  plan.spec.roles[1].min_failed = 1;
  ExpectComplaint(plan, history, "although the job has to stop");
}

TEST(CompletionScenarioTest, ARoleThatIsNotStoppedIsNoticed) {
  History history = RightHistory(Shards());
  RewriteJournal(history, [](auto& decisions) { std::erase_if(decisions, Is<RoleFinished>); });
  ExpectComplaint(Shards(), history, "although enough of shard have succeeded");
}

TEST(CompletionScenarioTest, ARoleThatIsStoppedTooEarlyIsNoticed) {
  Plan plan = Shards();
  const History history = RightHistory(plan);
  plan.spec.roles[1].min_succeeded = 3;
  ExpectComplaint(plan, history, "role shard is finished for no reason");
}

TEST(CompletionScenarioTest, AVerdictThatNamesTheLastFailureIsNoticed) {
  Plan plan = Shards();
  plan.spec.roles[1].min_failed = 2;
  plan.tasks[Shard(1)].process.exit_code = 4;
  History history = RightHistory(plan);
  RewriteEach<JobStopping>(history, [](JobStopping& d) { d.verdict.attempt = AttemptId{Shard(1), 1}; });
  ExpectComplaint(plan, history, "but shard:0#1 failed");
}

}  // namespace
}  // namespace tony::sim
