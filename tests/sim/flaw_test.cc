// The checker's own test in the large: a shell with a flaw is found out within a few hundred seeds.
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/base/strings.h"
#include "tests/sim/seed_plan.h"
#include "tests/sim/world.h"

namespace tony::sim {
namespace {

// The seed whose run has a complaint that contains `text`, and has none without the flaw.
uint64_t FoundBySeed(Flaw flaw, const std::string& text) {
  constexpr uint64_t kFewHundred = 300;
  for (uint64_t seed = 1; seed <= kFewHundred; ++seed) {
    const auto complaints = ComplaintsAbout(PlanFor(seed), flaw);
    const bool found = std::ranges::any_of(complaints, [&](const auto& c) { return c.find(text) != c.npos; });
    if (found && ComplaintsAbout(PlanFor(seed)).empty()) return seed;
  }
  return 0;
}

TEST(FlawTest, AnAmThatAnswersBeforeItsJournalIsWrittenIsFoundOut) {
  EXPECT_GT(FoundBySeed(Flaw::kActsBeforeJournal, "not in the journal"), 0u);
}

TEST(FlawTest, AnAmThatTellsADecisionOfALaterTurnIsFoundOut) {
  EXPECT_GT(FoundBySeed(Flaw::kTellsAhead, "not in the journal"), 0u);
}

TEST(FlawTest, AnAmThatOpensAStageBeforeItsJournalHasTheValuesIsFoundOut) {
  EXPECT_GT(FoundBySeed(Flaw::kOpensStagesEarly, "before its stage was open"), 0u);
}

TEST(FlawTest, AnExecutorThatForgetsWhatItsTaskPublishedIsFoundOut) {
  EXPECT_GT(FoundBySeed(Flaw::kLosesValues, "had published was lost"), 0u);
}

TEST(FlawTest, AnAmThatForgetsItsJournalIsFoundOut) {
  EXPECT_GT(FoundBySeed(Flaw::kForgetsJournal, "whole decisions"), 0u);
}

TEST(FlawTest, AnAmThatAppendsBehindATornTailIsFoundOut) {
  EXPECT_GT(FoundBySeed(Flaw::kKeepsTornTail, "whole decisions"), 0u);
}

TEST(FlawTest, AnAmThatDoesNotReadTheKillRequestOfItsPredecessorIsFoundOut) {
  EXPECT_GT(FoundBySeed(Flaw::kForgetsKill, "the kill request is ignored"), 0u);
}

TEST(FlawTest, AnAmThatDoesNotRepeatThePendingOrdersIsFoundOut) {
  EXPECT_GT(FoundBySeed(Flaw::kSkipsPendingOrders, "the job has not ended"), 0u);
}

TEST(FlawTest, AnAmThatRenewsItsLeaseWithoutItsArbiterIsFoundOut) {
  EXPECT_GT(FoundBySeed(Flaw::kRenewsWithoutRule, "has lost its arbiter"), 0u);
}

TEST(FlawTest, AnAmThatFollowsTheWallClockIsFoundOutWhicheverWayThatSteps) {
  constexpr Duration kHours = std::chrono::hours(8);
  for (const Duration step : {kHours, -kHours}) {
    Plan plan = QuietPlan(1);
    plan.spec.timeout = Duration(60'000);
    plan.tasks.at({"worker", 0}).process.run = Duration(40'000);
    plan.clocks = {.one_machine = true, .steps = {{Duration(10'000), step}}};
    plan.faults = {{Duration(20'000), CrashAm{}}};
    EXPECT_EQ(Join(ComplaintsAbout(plan), "\n"), "");
    EXPECT_NE(Join(ComplaintsAbout(plan, Flaw::kFollowsWall), "\n").find("the job's clock has stepped"),
              std::string::npos)
        << step.count();
  }
}

TEST(FlawTest, AnAmThatCountsSilenceWithoutALeaseIsFoundOut) {
  Plan plan = QuietPlan(2);
  for (auto& [id, task] : plan.tasks) task.process.run = Duration(200'000);
  plan.faults = {{Duration(1'000), LockLease{Duration(180'000)}},
                 {Duration(30'000), CutNetwork{{"worker", 0}, Duration(100'000)}}};
  EXPECT_EQ(Join(ComplaintsAbout(plan), "\n"), "");
  EXPECT_NE(Join(ComplaintsAbout(plan, Flaw::kRenewsUnwritten), "\n").find("lease record is not renewed"),
            std::string::npos);
}

TEST(FlawTest, AnAmThatOverlooksCheckpointsIsFoundOut) {
  EXPECT_GT(FoundBySeed(Flaw::kSeesNoCheckpoint, "there was a newer checkpoint"), 0u);
}

TEST(FlawTest, AnAmThatTakesAConditionalKillForAPlainOneIsFoundOut) {
  EXPECT_GT(FoundBySeed(Flaw::kIgnoresFence, "nobody may ask for it"), 0u);
}

TEST(FlawTest, AnAmThatOverlooksWatchersIsFoundOut) {
  EXPECT_GT(FoundBySeed(Flaw::kOverlooksWatchers, "which is not in the journal"), 0u);
}

TEST(FlawTest, ASchedulerThatConfirmsWhatItDidNotSeeIsFoundOut) {
  EXPECT_GT(FoundBySeed(Flaw::kConfirmsUnseen, "the final status came before"), 0u);
}

TEST(FlawTest, AKeeperThatWaitsForAProcessWhichItCannotEndIsFoundOut) {
  Plan plan = QuietPlan(2);
  plan.tasks.at({"worker", 0}).process.children_stay = true;
  plan.faults = {{Duration(5'000), AskKill{}}};
  EXPECT_EQ(Join(ComplaintsAbout(plan), "\n"), "");
  EXPECT_NE(Join(ComplaintsAbout(plan, Flaw::kWaitsForWhatStays), "\n").find("outlives its bound"), std::string::npos);
}

TEST(FlawTest, AnExecutorThatStartsItsProcessAgainIsFoundOut) {
  EXPECT_GT(FoundBySeed(Flaw::kStartsTwice, "was started again"), 0u);
}

TEST(FlawTest, AnAmThatTakesOthersCheckpointsIsFoundOut) {
  EXPECT_GT(FoundBySeed(Flaw::kTakesOthersCheckpoints, "noted a checkpoint that never was"), 0u);
}

TEST(FlawTest, AnExecutorThatDoesNotSayWhereToResumeIsFoundOut) {
  EXPECT_GT(FoundBySeed(Flaw::kLosesResume, "resumes from ''"), 0u);
}

TEST(FlawTest, AnExecutorThatChangesTheClusterSpecIsFoundOut) {
  EXPECT_GT(FoundBySeed(Flaw::kAltersClusterSpec, "got another cluster spec"), 0u);
}

TEST(FlawTest, AnExecutorThatDoesNotStopItsTaskIsFoundOut) {
  Plan plan = QuietPlan(2);
  for (auto& [id, task] : plan.tasks) task.process.run = Duration(200'000);
  plan.faults = {{Duration(5'000), CutNetwork{{"worker", 0}, Duration(100'000)}}};
  EXPECT_EQ(Join(ComplaintsAbout(plan), "\n"), "");
  EXPECT_NE(Join(ComplaintsAbout(plan, Flaw::kIgnoresStop), "\n").find("is given up, but its process runs"),
            std::string::npos);
}

TEST(FlawTest, AnExecutorThatSeesItsFirstProcessOnlyIsFoundOut) {
  EXPECT_GT(FoundBySeed(Flaw::kSeesFirstProcessOnly, "did not succeed"), 0u);
}

TEST(FlawTest, AnExecutorThatKeepsItsOldNameIsFoundOut) {
  EXPECT_GT(FoundBySeed(Flaw::kForgetsAttempt, "was started again"), 0u);
}

}  // namespace
}  // namespace tony::sim
