// Jobs whose tasks start in stages, and histories of them in which one thing is made wrong.
#include "tests/sim/altered_history.h"
#include "tests/sim/scenario.h"

namespace tony::sim {
namespace {

const TaskId kDriver{"driver", 0};
const TaskId kServer{"ps", 0};

// Each publishes a second after it has started.
Plan InStages() {
  Plan plan = QuietPlan(2);
  plan.spec.framework = FrameworkKind::kStaged;
  plan.spec.roles.insert(plan.spec.roles.begin(), {.name = "driver", .command = "drive"});
  plan.spec.roles.insert(plan.spec.roles.begin() + 1,
                         {.name = "ps", .command = "serve", .completion = Completion::kUntracked});
  for (const TaskId& task : {kDriver, kServer}) plan.tasks[task].process.publish_after = Duration(1'000);
  plan.tasks[kServer].process.run = Duration(100'000);
  return plan;
}

TEST(StageScenarioTest, StagesFollowEachOther) {
  const Plan plan = InStages();
  World world(plan);
  world.Run();
  ASSERT_TRUE(IsRight(plan, world));
  ExpectVerdict(world, FinalState::kSucceeded, OutcomeClass::kSuccess);
  const auto starts = All<ProcessStarted>(world.history());
  ASSERT_EQ(starts.size(), 4u);
  EXPECT_EQ(starts[0].attempt.task, kDriver);
  EXPECT_EQ(starts[1].attempt.task, kServer);
}

TEST(StageScenarioTest, AnAmMayCrashAtEveryStep) {
  CrashAtEveryStep(InStages(), FinalState::kSucceeded, OutcomeClass::kSuccess);
}

TEST(StageScenarioTest, AGangThatFormsAgainWaitsForValuesAnew) {
  Plan plan = InStages();
  plan.spec.restart.levels[static_cast<size_t>(RestartScope::kGang)].most = 1;
  ProcessPlan failing = plan.tasks[kDriver].process;
  failing.exit_code = 1;
  plan.tasks[kDriver].earlier = {failing};
  CrashAtEveryStep(plan, FinalState::kSucceeded, OutcomeClass::kSuccess);
  World world(plan);
  world.Run();
  EXPECT_EQ(Decided<StageOpened>(world.history()).size(), 4u);
}

TEST(StageScenarioTest, ADriverThatEndsInSilenceFailsTheJob) {
  Plan plan = InStages();
  plan.tasks[kDriver].process.publish_after.reset();
  CrashAtEveryStep(plan, FinalState::kFailed, OutcomeClass::kUserError);
}

TEST(StageScenarioTest, ADriverThatStaysSilentIsNotWaitedForForEver) {
  Plan plan = InStages();
  plan.spec.registration_timeout = Duration(20'000);
  plan.tasks[kDriver].process = {.run = Duration(100'000)};
  World world(plan);
  world.Run();
  ASSERT_TRUE(IsRight(plan, world));
  ExpectVerdict(world, FinalState::kFailed, OutcomeClass::kTimeout);
}

// What the driver's executor has seen and could not tell is told to the AM when it can be reached again.
TEST(StageScenarioTest, ALinkThatBreaksBeforeTheAnswerLosesNothing) {
  for (const auto direction :
       {CutNetwork::Direction::kBoth, CutNetwork::Direction::kRequests, CutNetwork::Direction::kAnswers}) {
    Plan plan = InStages();
    plan.faults = {{Duration(900), CutNetwork{kDriver, Duration(5'000), false, direction}}};
    World world(plan);
    world.Run();
    ASSERT_TRUE(IsRight(plan, world));
    ExpectVerdict(world, FinalState::kSucceeded, OutcomeClass::kSuccess);
    EXPECT_EQ(Decided<ValuesPublished>(world.history()).size(), 2u);
  }
}

// ---- the checker

class StagedHistoryTest : public testing::Test {
 protected:
  void ExpectComplaint(const std::string& text) const { sim::ExpectComplaint(plan_, history_, text); }

  const Plan plan_ = InStages();
  History history_ = RightHistory(plan_);
};

TEST_F(StagedHistoryTest, ARightOneHasNoComplaint) {
  RewriteJournal(history_, [](std::vector<Decision>&) {});
  EXPECT_TRUE(HistoryChecker::Check(plan_.spec, history_).empty());
}

TEST_F(StagedHistoryTest, AStageThatOpensBeforeTheValuesAreInTheJournalIsNoticed) {
  RewriteJournal(history_, [](std::vector<Decision>& decisions) { std::erase_if(decisions, Is<ValuesPublished>); });
  ExpectComplaint("stage 1 was opened before driver:0 had published");
  ExpectComplaint("acknowledged values that are not in the journal");
}

TEST_F(StagedHistoryTest, AStageThatOpensUnwrittenIsNoticed) {
  RewriteJournal(history_, [](std::vector<Decision>& decisions) { std::erase_if(decisions, Is<StageOpened>); });
  ExpectComplaint("ps:0#1 is told to start before its stage was open");
  ExpectComplaint("worker:1#1 was started before its stage was open");
}

TEST_F(StagedHistoryTest, ValuesThatNobodyPublishedAreNoticed) {
  RewriteEach<ValuesPublished>(history_, [](ValuesPublished& d) { d.values["ADDRESS"] += "!"; });
  ExpectComplaint("driver:0#1 published something else");
  ExpectComplaint("got another cluster spec");
}

TEST_F(StagedHistoryTest, ASecondValueIsNoticed) {
  RewriteJournal(history_, [](std::vector<Decision>& decisions) {
    const auto published = std::ranges::find_if(decisions, Is<ValuesPublished>);
    if (published != decisions.end()) decisions.insert(published, Decision(*published));
  });
  ExpectComplaint("driver:0#1 publishes what it may not");
}

TEST_F(StagedHistoryTest, ASuccessThatLostItsValuesIsNoticed) {
  RewriteEach<AttemptEnded>(history_, [](AttemptEnded& d) {
    if (d.attempt.task == kDriver) d.outcome.cls = OutcomeClass::kUserError;
  });
  ExpectComplaint("what driver:0#1 had published was lost");
}

}  // namespace
}  // namespace tony::sim
