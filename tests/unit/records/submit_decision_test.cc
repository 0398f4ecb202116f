#include <gtest/gtest.h>

#include "runtime/records/submit_course.h"

namespace tony {

void PrintTo(SubmitDecision decision, std::ostream* out) { *out << static_cast<int>(decision); }

namespace {

// The contract's table, as it stands there.
struct Row {
  std::vector<ExistingJob> existing;
  SubmitDecision adopt, attach, never, higher;
};
const std::vector<Row>& Table() {
  using enum SubmitDecision;
  static const auto& rows = *new std::vector<Row>{
      {{ExistingJob::kNone}, kCreate, kCreate, kCreate, kCreate},
      {{ExistingJob::kActive}, kAttach, kAttach, kReplace, kReplace},
      {{ExistingJob::kEnding}, kCreate, kCreate, kCreate, kCreate},
      {{ExistingJob::kSucceeded}, kAdopt, kCreate, kCreate, kCreate},
  };
  return rows;
}

constexpr OnExisting kPolicies[] = {OnExisting::kAdopt, OnExisting::kAttach, OnExisting::kNever};

SubmitDecision OfSameNumber(const Row& row, OnExisting policy) {
  switch (policy) {
    case OnExisting::kAdopt:
      return row.adopt;
    case OnExisting::kAttach:
      return row.attach;
    case OnExisting::kNever:
      return row.never;
  }
  return {};
}

TEST(SubmitDecisionTest, TheSameNumberIsDecidedByTheTable) {
  for (const Row& row : Table()) {
    for (const ExistingJob existing : row.existing) {
      for (const OnExisting policy : kPolicies) {
        for (const int64_t number : {0, 1, 7}) {
          EXPECT_EQ(DecideSubmit({number, existing, number, false}, {number, policy}), OfSameNumber(row, policy))
              << "existing " << static_cast<int>(existing) << ", " << ToString(policy);
        }
      }
    }
  }
}

// Higher than the existing job's; whether a submit that died has asked for the number before makes no difference.
TEST(SubmitDecisionTest, AHigherNumberIsDecidedByTheTableWhateverThePolicy) {
  for (const Row& row : Table()) {
    for (const ExistingJob existing : row.existing) {
      for (const OnExisting policy : kPolicies) {
        for (const int64_t newest : {3, 4, 5}) {
          EXPECT_EQ(DecideSubmit({newest, existing, 3, false}, {5, policy}), row.higher)
              << "existing " << static_cast<int>(existing) << ", " << ToString(policy) << ", newest " << newest;
        }
      }
    }
  }
}

TEST(SubmitDecisionTest, ALowerNumberThanTheNewestIsRefusedWhateverElseIsSo) {
  for (const ExistingJob existing :
       {ExistingJob::kNone, ExistingJob::kActive, ExistingJob::kEnding, ExistingJob::kSucceeded}) {
    for (const OnExisting policy : kPolicies) {
      for (const bool revoked : {false, true}) {
        for (const int64_t of_job : {2, 3, 4}) {
          EXPECT_EQ(DecideSubmit({4, existing, of_job, revoked}, {3, policy}), SubmitDecision::kRefuseStale);
        }
      }
    }
  }
}

TEST(SubmitDecisionTest, AnOwnerThatWasToldToStopIsRefusedWhateverIsThere) {
  for (const ExistingJob existing :
       {ExistingJob::kNone, ExistingJob::kActive, ExistingJob::kEnding, ExistingJob::kSucceeded}) {
    for (const OnExisting policy : kPolicies) {
      for (const int64_t number : {4, 5}) {
        EXPECT_EQ(DecideSubmit({4, existing, 4, true}, {number, policy}), SubmitDecision::kRefuseRevoked);
      }
    }
  }
}

// The contract's rules of digests and consumed results, each case by hand.
TEST(SubmitDecisionTest, DigestsAndConsumedResultsAreDecidedByWhoAsks) {
  using enum SubmitAsker;
  using enum SubmitDecision;
  struct Case {
    ExistingJob existing;
    bool differs, consumed;
    SubmitDecision person, first, later;
  };
  const Case cases[] = {
      {ExistingJob::kActive, false, false, kAttach, kAttach, kAttach},
      {ExistingJob::kActive, true, false, kRefuseDiffers, kReplace, kAttach},
      {ExistingJob::kSucceeded, false, false, kAdopt, kAdopt, kAdopt},
      {ExistingJob::kSucceeded, true, false, kCreate, kCreate, kAdopt},
      {ExistingJob::kSucceeded, false, true, kAdopt, kCreate, kAdopt},
      {ExistingJob::kSucceeded, true, true, kCreate, kCreate, kCreate},
      {ExistingJob::kEnding, true, true, kCreate, kCreate, kCreate},
      {ExistingJob::kNone, true, true, kCreate, kCreate, kCreate},
  };
  for (const Case& c : cases) {
    const KnownRequest known = {.existing = c.existing, .differs = c.differs, .consumed = c.consumed};
    for (const auto& [asker, decision] : {std::pair{kPerson, c.person}, {kFirstTry, c.first}, {kLaterTry, c.later}})
      EXPECT_EQ(DecideSubmit(known, {.asker = asker}), decision)
          << static_cast<int>(c.existing) << c.differs << c.consumed << " asker " << static_cast<int>(asker);
  }
}

// Its first try may have died before it came here.
TEST(SubmitDecisionTest, TheResultOfAnotherRunIsNotAdopted) {
  using enum SubmitAsker;
  KnownRequest known = {.existing = ExistingJob::kSucceeded, .run = {"monday"}};
  for (const SubmitAsker asker : {kPerson, kFirstTry, kLaterTry}) {
    EXPECT_EQ(DecideSubmit(known, {.asker = asker, .run = {"monday"}}), SubmitDecision::kAdopt);
    EXPECT_EQ(DecideSubmit(known, {.asker = asker, .run = {"tuesday"}}), SubmitDecision::kCreate);
    EXPECT_EQ(DecideSubmit(known, {.asker = asker}), SubmitDecision::kAdopt);
  }
  known.consumed = true;
  EXPECT_EQ(DecideSubmit(known, {.asker = kLaterTry, .run = {"monday"}}), SubmitDecision::kAdopt);
  EXPECT_EQ(DecideSubmit(known, {.asker = kLaterTry, .run = {"tuesday"}}), SubmitDecision::kCreate);
  EXPECT_EQ(DecideSubmit(known, {.asker = kFirstTry, .run = {"monday"}}), SubmitDecision::kCreate);
}

TEST(SubmitDecisionTest, ALaterTryIsAFirstOneToAJobOfAnotherRun) {
  using enum SubmitAsker;
  const KnownRequest other = {.existing = ExistingJob::kActive, .differs = true, .run = {"monday"}};
  EXPECT_EQ(DecideSubmit(other, {.asker = kLaterTry, .run = {"monday"}}), SubmitDecision::kAttach);
  EXPECT_EQ(DecideSubmit(other, {.asker = kLaterTry, .run = {"tuesday"}}), SubmitDecision::kReplace);
  const KnownRequest unknown = {.existing = ExistingJob::kSucceeded, .consumed = true};
  EXPECT_EQ(DecideSubmit(unknown, {.asker = kLaterTry, .run = {"tuesday"}}), SubmitDecision::kAdopt);
}

TEST(SubmitDecisionTest, SourcesAreReadOnlyWhereTheirDigestDecides) {
  using enum SubmitAsker;
  for (const SubmitAsker asker : {kPerson, kFirstTry, kLaterTry}) {
    const bool engine_goes_on = asker == kLaterTry;
    EXPECT_EQ(DigestDecides({.existing = ExistingJob::kActive}, {.asker = asker}), !engine_goes_on);
    EXPECT_EQ(DigestDecides({.existing = ExistingJob::kSucceeded}, {.asker = asker}), !engine_goes_on);
    EXPECT_FALSE(DigestDecides({.existing = ExistingJob::kEnding}, {.asker = asker}));
    EXPECT_FALSE(DigestDecides({.existing = ExistingJob::kActive}, {.number = 1, .asker = asker}));
    EXPECT_FALSE(DigestDecides({.newest_number = 2, .existing = ExistingJob::kActive}, {.asker = asker}));
  }
  EXPECT_TRUE(DigestDecides({.existing = ExistingJob::kSucceeded, .consumed = true}, {.asker = kLaterTry}));
  EXPECT_FALSE(DigestDecides({.existing = ExistingJob::kSucceeded, .consumed = true}, {.asker = kFirstTry}));
}

TEST(SubmitDecisionTest, PartsThatBothHaveAreCompared) {
  const SubmitDigest a = {{{"command", "1"}, {"files", "2"}, {"roles", "3"}}};
  const SubmitDigest b = {{{"command", "1"}, {"files", "x"}, {"newer", "4"}}};
  EXPECT_EQ(DiffersIn(a, b), std::vector<std::string>{"files"});
  EXPECT_EQ(DiffersIn(a, a), std::vector<std::string>());
  EXPECT_EQ(DiffersIn(a, {}), std::vector<std::string>()) << "a release without digests made it";
}

TEST(SubmitDecisionTest, PoliciesHaveTheNamesOfTheContract) {
  for (const OnExisting policy : kPolicies) EXPECT_EQ(OnExistingFromString(ToString(policy)), policy);
  EXPECT_EQ(OnExistingFromString("adopt"), OnExisting::kAdopt);
  EXPECT_EQ(OnExistingFromString("attach"), OnExisting::kAttach);
  EXPECT_EQ(OnExistingFromString("never"), OnExisting::kNever);
  EXPECT_EQ(OnExistingFromString("Adopt"), std::nullopt);
  EXPECT_EQ(OnExistingFromString(""), std::nullopt);
}

}  // namespace
}  // namespace tony
