#include "runtime/request/submit_decision.h"

#include <gtest/gtest.h>

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
