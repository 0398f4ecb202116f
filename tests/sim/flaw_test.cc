// The checker's own test in the large: a shell with a flaw is found out within a few hundred seeds.
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/base/strings.h"
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

}  // namespace
}  // namespace tony::sim
