// Tasks of several processes, and histories of them in which one thing is made wrong.
#include "tests/sim/altered_history.h"
#include "tests/sim/scenario.h"

namespace tony::sim {
namespace {

constexpr int kRestarts = 1;

// Two workers of three processes each, which start again together.
Plan OfProcesses() {
  Plan plan = GangFor(2, Duration(10'000), kRestarts);
  plan.spec.roles[0].processes = 3;
  for (auto& [id, task] : plan.tasks) task.process.beside = {{.run = Duration(2'000)}, {.run = Duration(12'000)}};
  return plan;
}

// The third process of the first worker's first attempt fails; the second ignores SIGTERM.
Plan WithAFailure() {
  Plan plan = OfProcesses();
  TaskPlan& task = plan.tasks.at(kWorker0);
  ProcessPlan failing = task.process;
  failing.beside = {{.run = Duration(100'000), .obeys_term = std::nullopt}, {.run = Duration(3'000), .exit_code = 7}};
  task.earlier = {failing};
  return plan;
}

TEST(ProcessesScenarioTest, AllOfThemEndBeforeTheirTaskHasSucceeded) {
  const Plan plan = OfProcesses();
  World world(plan);
  world.Run();
  ASSERT_TRUE(IsRight(plan, world));
  ExpectVerdict(world, FinalState::kSucceeded, OutcomeClass::kSuccess);
  EXPECT_EQ(Count<ProcessStarted>(world.history()), 6);
  EXPECT_EQ(Count<ProcessSignalled>(world.history()), 0);
}

TEST(ProcessesScenarioTest, AnAmMayCrashAtEveryStep) {
  CrashAtEveryStep(WithAFailure(), FinalState::kSucceeded, OutcomeClass::kSuccess);
}

TEST(ProcessesScenarioTest, TheOutcomeIsThatOfTheProcessWhichFailedFirst) {
  const Plan plan = WithAFailure();
  World world(plan);
  world.Run();
  ASSERT_TRUE(IsRight(plan, world));
  EXPECT_EQ(Count<ProcessStarted>(world.history()), 12);
  for (const AttemptEnded& ended : Decided<AttemptEnded>(world.history())) {
    if (ended.attempt != AttemptId{kWorker0, 1}) continue;
    EXPECT_EQ(ended.outcome.process, 2);
    EXPECT_EQ(ended.outcome.exit, (ExitStatus{ExitStatus::Kind::kExited, 7}));
  }
}

// Its exit code is not lost, and its budget would have room for another attempt.
TEST(ProcessesScenarioTest, NothingBeginsBesideAProcessThatNobodyCanEnd) {
  Plan plan = GangFor(2, Duration(10'000), kRestarts);
  plan.tasks.at(kWorker0).process.children_stay = true;
  plan.tasks.at(kWorker0).process.exit_code = 3;
  World world(plan);
  world.Run();
  ASSERT_TRUE(IsRight(plan, world));
  ExpectVerdict(world, FinalState::kFailed, OutcomeClass::kUserError);
  EXPECT_EQ(Count<ProcessStarted>(world.history()), 2);
}

// ---- the checker

TEST(ProcessesHistoryTest, ASuccessOfWhichOneProcessFailedIsNoticed) {
  const Plan plan = OfProcesses();
  History history = RightHistory(plan);
  FirstOf<ProcessEnded>(history).exit.value = 7;
  ExpectComplaint(plan, history, "did not succeed");
}

TEST(ProcessesHistoryTest, AnEndThatIsReportedWhileAProcessRunsIsNoticed) {
  const Plan plan = WithAFailure();
  History history = RightHistory(plan);
  const auto killed = std::ranges::find_if(history.events(), [](const Seen& seen) {
    const auto* ended = std::get_if<ProcessEnded>(&seen.event);
    return ended && ended->exit == ExitStatus{ExitStatus::Kind::kSignaled, 9};
  });
  ASSERT_NE(killed, history.events().end());
  history.events().erase(killed);
  ExpectComplaint(plan, history, "worker:0#1 has reported its end, and a process of it runs");
}

TEST(ProcessesHistoryTest, AnotherProcessThanTheOneThatFailedIsNoticed) {
  const Plan plan = WithAFailure();
  History history = RightHistory(plan);
  RewriteEach<AttemptEnded>(history, [](AttemptEnded& d) {
    if (d.outcome.process) d.outcome.process = 0;
  });
  ExpectComplaint(plan, history, "worker:0#1 has another exit status in the journal");
}

TEST(ProcessesHistoryTest, AProcessThatIsStartedTwiceIsNoticed) {
  const Plan plan = OfProcesses();
  History history = RightHistory(plan);
  const ProcessStarted start = FirstOf<ProcessStarted>(history);
  InsertBefore(history, First<ProcessEnded>(history), start);
  ExpectComplaint(plan, history, "was started again");
}

}  // namespace
}  // namespace tony::sim
