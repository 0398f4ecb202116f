// Large tests of the checker: it finds each flawed shell within a few hundred seeds or with one plan.
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/base/strings.h"
#include "tests/sim/scenario.h"
#include "tests/sim/seed_plan.h"
#include "tests/sim/world.h"

namespace tony::sim {
namespace {

// Returns the first seed whose run has a complaint that contains `text` with the flaw, and no complaint without it.
uint64_t FoundBySeed(Flaw flaw, const std::string& text) {
  constexpr uint64_t kFewHundred = 300;
  for (uint64_t seed = 1; seed <= kFewHundred; ++seed) {
    const auto complaints = ComplaintsAbout(PlanFor(seed), flaw);
    const bool found = std::ranges::any_of(complaints, [&](const auto& c) { return c.find(text) != c.npos; });
    if (found && ComplaintsAbout(PlanFor(seed)).empty()) return seed;
  }
  return 0;
}

struct FlawRow {
  const char* name;
  Flaw flaw;
  const char* complaint;
  const char* plan = nullptr;  // null: search by seeds
};

void ExpectFound(const Plan& plan, Flaw flaw, const std::string& complaint) {
  EXPECT_EQ(Join(ComplaintsAbout(plan), "\n"), "");
  EXPECT_NE(Join(ComplaintsAbout(plan, flaw), "\n").find(complaint), std::string::npos);
}

const FlawRow kFlaws[] = {
    {"TheCheckerDetectsAnAmThatAnswersBeforeItsDecisionIsJournalled", Flaw::kActsBeforeJournal, "not in the journal"},
    {"TheCheckerDetectsAnAmThatSendsACommandThatIsNotYetJournalled", Flaw::kTellsAhead, "not in the journal"},
    {"TheCheckerDetectsAnAmThatOpensAStageBeforeItsJournalHasTheValues", Flaw::kOpensStagesEarly,
     "before its stage was open"},
    {"TheCheckerDetectsAnExecutorThatLosesPublishedValues", Flaw::kLosesValues, "had published was lost"},
    {"TheCheckerDetectsAnAmThatDoesNotReadItsJournal", Flaw::kForgetsJournal, "whole decisions"},
    {"TheCheckerDetectsAnAmThatAppendsAfterATornJournalTail", Flaw::kKeepsTornTail, "whole decisions"},
    {"TheCheckerDetectsANewAmThatDoesNotReadAPendingKillRequest", Flaw::kForgetsKill, "the kill request is ignored"},
    {"TheCheckerDetectsANewAmThatDoesNotRepeatUnfinishedOrders", Flaw::kSkipsPendingOrders, "the job has not ended"},
    {"TheCheckerDetectsAnAmThatRenewsItsLeaseWithoutLeadership", Flaw::kRenewsWithoutRule, "has lost its arbiter"},
    {"TheCheckerDetectsAnAmThatIgnoresAFailedLeaseRenewal", Flaw::kRenewsUnwritten, "lease record is not renewed",
     "worker*2, all runs 200s, at 1s lock-lease 180s, at 30s cut worker:0 100s"},
    {"TheCheckerDetectsAnAmThatNeverFindsACheckpoint", Flaw::kSeesNoCheckpoint, "there was a newer checkpoint"},
    {"TheCheckerDetectsAnAmThatTreatsAConditionalKillAsUnconditional", Flaw::kIgnoresFence, "nobody may ask for it"},
    {"TheCheckerDetectsAnAmThatIgnoresTheNamesOfWatchers", Flaw::kOverlooksWatchers, "which is not in the journal"},
    {"TheCheckerDetectsAnAmThatWritesToASealedJournal", Flaw::kIgnoresSeal, "is over, yet it"},
    {"TheCheckerDetectsAReplacedAmThatAnswersWithoutLeadership", Flaw::kAnswersWithoutRule,
     "was replaced and has lost its arbiter", "worker*2, shared-store 1300ms, all runs 60s, at 5s double-am 90s"},
    {"TheCheckerDetectsAnAmThatRepeatsACompletedButUnacknowledgedWrite", Flaw::kRepeatsUnanswered, "journal"},
    {"TheCheckerDetectsAnAmThatKeepsASurplusContainer", Flaw::kKeepsSurplus, "neither used nor returned"},
    {"TheCheckerDetectsASchedulerThatReportsContainerExitsBeforeTheyHappen", Flaw::kConfirmsUnseen,
     "the final status came before"},
    {"TheCheckerDetectsAKeeperThatWaitsForAnUnkillableProcess", Flaw::kWaitsForWhatStays, "outlives its bound",
     "worker*2, worker:0 children-stay, at 5s kill"},
    {"TheCheckerDetectsAnExecutorThatStartsAnEndedProcessAgain", Flaw::kStartsTwice, "was started again"},
    {"TheCheckerDetectsAnAmThatResumesFromAnotherJobsCheckpoint", Flaw::kTakesOthersCheckpoints,
     "noted a checkpoint that never was"},
    {"TheCheckerDetectsAnExecutorThatWithholdsTheCheckpointPathFromItsProcess", Flaw::kLosesResume, "resumes from ''"},
    {"TheCheckerDetectsAnExecutorThatChangesTheClusterSpec", Flaw::kAltersClusterSpec, "got another cluster spec"},
    {"TheCheckerDetectsAnExecutorThatDoesNotStopItsTask", Flaw::kIgnoresStop, "is given up, but its process runs",
     "worker*2, all runs 200s, at 5s cut worker:0 100s"},
    {"TheCheckerDetectsAnExecutorThatChecksOnlyItsFirstProcess", Flaw::kSeesFirstProcessOnly, "did not succeed"},
    {"TheCheckerDetectsAnExecutorThatKeepsItsOldAttemptId", Flaw::kForgetsAttempt, "was started again"},
};
TABLE_TEST(FlawTest, kFlaws, [](const FlawRow& row) {
  if (row.plan) return ExpectFound(PlanOf(row.plan), row.flaw, row.complaint);
  EXPECT_GT(FoundBySeed(row.flaw, row.complaint), 0u);
});

TEST(FlawTest, TheCheckerDetectsAnAmWhoseJobClockFollowsWallClockSteps) {
  constexpr Duration kHours = std::chrono::hours(8);
  for (const Duration step : {kHours, -kHours}) {
    Plan plan = PlanOf("worker*1 timeout=60s, all runs 40s, at 20s crash-am");
    plan.clocks = {.one_machine = true, .steps = {{Duration(10'000), step}}};
    ExpectFound(plan, Flaw::kFollowsWall, "the job's clock has stepped");
  }
}

}  // namespace
}  // namespace tony::sim
