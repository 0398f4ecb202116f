#include "tests/sim/scenario.h"

#include "runtime/base/check.h"
#include "runtime/base/strings.h"
#include "runtime/records/journal_format.h"
#include "tests/sim/history_checker.h"

namespace tony::sim {

Plan WorkersFor(int workers, Duration run) {
  Plan plan = QuietPlan(workers);
  for (auto& [id, task] : plan.tasks) task.process.run = run;
  return plan;
}

Plan GangFor(int workers, Duration run, int restarts) {
  Plan plan = WorkersFor(workers, run);
  plan.spec.framework = FrameworkKind::kPytorch;
  plan.spec.restart.levels[static_cast<size_t>(RestartScope::kGang)].most = restarts;
  return plan;
}

testing::AssertionResult IsRight(const Plan& plan, const World& world) {
  const auto complaints = HistoryChecker::Check(plan.spec, world.history());
  if (complaints.empty()) return testing::AssertionSuccess();
  World again(plan, Flaw::kNone, /*with_trace=*/true);
  again.Run();
  return testing::AssertionFailure() << Join(complaints, "\n") << "\n" << again.history().trace();
}

void ExpectVerdict(const World& world, FinalState state, OutcomeClass cls) {
  ASSERT_TRUE(world.status().has_value());
  EXPECT_EQ(ToString(world.status()->state), ToString(state)) << world.status()->message;
  EXPECT_EQ(ToString(world.status()->cls), ToString(cls)) << world.status()->message;
}

void CrashAtEveryStep(Plan plan, FinalState state, OutcomeClass cls) {
  World reference(plan);
  reference.Run();
  ASSERT_TRUE(IsRight(plan, reference));
  ExpectVerdict(reference, state, cls);
  const int64_t steps = reference.crashes().steps();
  ASSERT_GT(steps, 20);
  for (int64_t step = 1; step <= steps; ++step) {
    plan.am.crash_at_steps = {step};
    World world(plan);
    world.Run();
    ASSERT_TRUE(IsRight(plan, world)) << "crash at step " << step;
    EXPECT_EQ(Count<AmGone>(world.history()), Count<AmBegan>(world.history())) << "crash at step " << step;
    EXPECT_LE(Count<AmBegan>(world.history()), 2) << "crash at step " << step;
    ExpectVerdict(world, state, cls);
  }
}

std::vector<Decision> DecisionsOf(const History& history) {
  auto journal = DecodeJournal(history.journal);
  CHECK(journal.ok());
  return std::move(journal->decisions);
}

}  // namespace tony::sim
