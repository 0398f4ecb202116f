// Whole runs under one request id from seeds, and proof that the checker finds flaws. TONY_SIM_SEEDS is the number of
// seeds: 10,000 if it is not set and rounds are full (tests/support/rounds.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "runtime/base/strings.h"
#include "tests/sim/request_checker.h"
#include "tests/sim/request_world.h"
#include "tests/support/rounds.h"
#include "tests/support/table_test.h"

namespace tony::sim {
namespace {

constexpr uint64_t kShards = 8;

uint64_t Seeds() {
  const char* text = std::getenv("TONY_SIM_SEEDS");
  return static_cast<uint64_t>(text ? ParseInt(text).value() : Rounds(10'000));
}

class RequestSimTest : public testing::TestWithParam<uint64_t> {};

TEST_P(RequestSimTest, EverySeedOfTheShardGivesACorrectHistory) {
  for (uint64_t seed = GetParam(); seed <= Seeds(); seed += kShards) {
    const auto complaints = ComplaintsAboutRequest(RequestPlanFor(seed));
    EXPECT_EQ(Join(complaints, "\n"), "") << "see tony-sim --requests --trace --seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Shards, RequestSimTest, testing::Range(uint64_t{1}, kShards + 1));

std::string TraceOf(uint64_t seed) {
  RequestWorld world(RequestPlanFor(seed));
  world.Run();
  return world.history().Trace();
}

TEST(RequestSimTest, ASeedAlwaysGivesTheSameRun) {
  for (uint64_t seed = 1; seed <= 40; ++seed) ASSERT_EQ(TraceOf(seed), TraceOf(seed)) << seed;
  EXPECT_NE(TraceOf(1), TraceOf(2));
}

// Runs that never show an end, an answer or a cause would prove little about it.
TEST(RequestSimTest, TheSeedsCoverAllSubmitResultsAndKillAnswersAndCausesOfJobEnds) {
  std::set<SubmitEnd> ends;
  std::set<KillAnswer> answers;
  std::set<EndCause> causes;
  std::set<RequestEventKind> kinds;
  int own_kills = 0, replaced = 0, revoked_in_the_act = 0;
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    RequestWorld world(RequestPlanFor(seed));
    world.Run();
    for (const RequestEvent& event : world.history().events) {
      kinds.insert(event.kind);
      if (event.kind == RequestEventKind::kSubmitEnded) ends.insert(event.end);
      if (event.kind == RequestEventKind::kKillAnswered) answers.insert(event.answer);
      if (event.kind == RequestEventKind::kStopping) causes.insert(event.cause);
      if (event.kind != RequestEventKind::kKillAsked || event.actor >= kFirstKill) continue;
      ++(event.request.IsPlain() ? replaced : own_kills);
      if (!event.request.IsPlain()) ++revoked_in_the_act;
    }
  }
  EXPECT_EQ(ends.size(), 6u);
  EXPECT_EQ(answers.size(), 4u);
  EXPECT_EQ(causes.size(), 3u);
  EXPECT_EQ(kinds.size(), static_cast<size_t>(RequestEventKind::kConsumed) + 1);
  EXPECT_GT(replaced, 20);
  EXPECT_GT(revoked_in_the_act, 5);
}

// Returns the first seed whose run has a complaint that contains `text`.
uint64_t FoundBySeed(RequestFlaw flaw, const std::string& text) {
  constexpr uint64_t kSomeThousand = 4000;
  for (uint64_t seed = 1; seed <= kSomeThousand; ++seed) {
    const auto complaints = ComplaintsAboutRequest(RequestPlanFor(seed), flaw);
    if (std::ranges::any_of(complaints, [&](const auto& c) { return c.find(text) != c.npos; })) return seed;
  }
  return 0;
}

struct FlawRow {
  const char* name;
  RequestFlaw flaw;
  std::vector<std::string> complaints;
};

const FlawRow kRequestFlaws[] = {
    {"TheCheckerDetectsASubmitThatTakesNoLock", RequestFlaw::kTakesNoLock, {"still runs"}},
    {"TheCheckerDetectsASubmitThatOverwritesTheRecordOfAnotherSubmit", RequestFlaw::kComparesNothing, {"still runs"}},
    {"TheCheckerDetectsASubmitThatGivesUpAJobThatIsStillBeingCreated",
     RequestFlaw::kGivesNothingUp,
     {"the request id does not find it"}},
    {"TheCheckerDetectsASubmitThatMissesAConcurrentRevocation", RequestFlaw::kOverlooksRevocation, {"was in vain"}},
    {"TheCheckerDetectsASubmitThatKillsAJobBeforeRecordingTheSubmissionNumber",
     RequestFlaw::kRaisesNoNumber,
     {"a job was killed for number"}},
    {"TheCheckerDetectsASubmitThatCreatesItsJobBeforeItsRequestRecord",
     RequestFlaw::kRecordsAfterCreate,
     {"does not find it"}},
    {"TheCheckerDetectsASubmitThatDoesNotWaitForTheOldJobsLastProcess", RequestFlaw::kSeesAllGone, {"still runs"}},
    {"TheCheckerDetectsASubmitThatRunsASucceededJobAgain", RequestFlaw::kOverlooksSuccess, {"has succeeded"}},
    {"TheCheckerDetectsASubmitThatReplacesAJobWithoutAKill",
     RequestFlaw::kReplacesWithoutKill,
     {"may still be started"}},
    {"TheCheckerDetectsASubmitThatDoesNotRecordTheDigestOfItsProgram",
     RequestFlaw::kRecordsNoDigest,
     {"its digest is not recorded"}},
    {"TheCheckerDetectsASubmitThatReturnsTheResultOfAnotherRun",
     RequestFlaw::kOverlooksRun,
     {"it is the result of another run"}},
    {"TheCheckerDetectsASubmitThatDoesNotRecordItsRunId", RequestFlaw::kRecordsNoRun, {"its run is not recorded"}},
    {"TheCheckerDetectsASubmitThatReusesTheJobOfAnotherProgram",
     RequestFlaw::kOverlooksDigest,
     {"it runs something else", "it was made of something else"}},
    {"TheCheckerDetectsAFirstTryThatReturnsAConsumedResult",
     RequestFlaw::kOverlooksAck,
     {"its result was consumed before"}},
    {"TheCheckerDetectsARetryThatReplacesTheExistingJob",
     RequestFlaw::kTakesAllForFirst,
     {"it may not replace that job", "has succeeded"}},
    {"TheCheckerDetectsAFirstTryThatIsTreatedAsARetry", RequestFlaw::kTakesAllForLater, {"it runs something else"}},
    {"TheCheckerDetectsAManualSubmitThatReplacesARunningJob",
     RequestFlaw::kTakesPersonForFirst,
     {"it may not replace that job"}},
    {"TheCheckerDetectsAKillThatSearchesForTheJobBeforeRevokingTheRequest", RequestFlaw::kRevokesLast, {"was in vain"}},
    {"TheCheckerDetectsAnAmThatAcceptsAKillWhoseConditionIsFalse",
     RequestFlaw::kIgnoresFence,
     {"its condition does not hold"}},
    {"TheCheckerDetectsAnAmThatExecutesACancelledKill", RequestFlaw::kForgetsToVoid, {"the planned kill is void"}},
    {"TheCheckerDetectsAnAmThatDoesNotReadItsKillRequests", RequestFlaw::kForgetsRequests, {"it was killed before"}},
};
TABLE_TEST(RequestFlawTest, kRequestFlaws, [](const FlawRow& row) {
  for (const std::string& complaint : row.complaints) EXPECT_GT(FoundBySeed(row.flaw, complaint), 0u) << complaint;
});

}  // namespace
}  // namespace tony::sim
