#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "am/core/ownership.h"
#include "runtime/records/decisions.h"

namespace tony::am {
namespace {

constexpr Instant kLookedAt = Instant(Duration(1'700'000'000'000));
Instant In(int64_t ms) { return kLookedAt + Duration(ms); }

KillRequest Kill(const std::string& owner, const std::string& watcher, Instant due = {}) {
  return {.reason = "enough", .if_owner = {owner}, .if_watcher = {watcher}, .due = due};
}

// Applies the decisions and returns their names.
class OwnershipTest : public testing::Test {
 protected:
  std::vector<std::string> Take(const std::vector<DecisionBody>& decisions) {
    std::vector<std::string> names;
    for (const DecisionBody& body : decisions) {
      names.emplace_back(Name({kLookedAt, body}));
      const Status applied = std::visit(
          [&](const auto& d) -> Status {
            if constexpr (requires { attention_.Apply(d); }) return attention_.Apply(d);
            return Error{ErrorCode::kInternal, "not a decision of Attention"};
          },
          body);
      EXPECT_TRUE(applied.ok()) << Describe({kLookedAt, body});
    }
    return names;
  }
  std::vector<std::string> Attach(const std::string& owner, Duration timeout = Duration(0)) {
    return Take(attention_.DecideAttach({{owner}, timeout}));
  }
  std::vector<std::string> Look(const std::string& watcher, Instant now = kLookedAt) {
    return Take(attention_.DecideClientSeen({watcher}, now));
  }
  bool Allows(const KillRequest& request) const { return attention_.Judge(request, kLookedAt) == KillAnswer::kTaken; }
  std::vector<std::string> Plan(const KillRequest& request) { return Take(attention_.DecidePlan(request)); }

  Ownership attention_;
};
using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(OwnershipTest, AKillThatNamesAnOwnerIsAllowedOnlyIfThatOwnerIsTheNewest) {
  EXPECT_TRUE(Allows(Kill("", "")));
  EXPECT_FALSE(Allows(Kill("o1", ""))) << "nobody owns it";
  EXPECT_THAT(Attach("o1"), ElementsAre("owner_changed"));
  EXPECT_THAT(Attach("o1"), IsEmpty()) << "asked again";
  EXPECT_TRUE(Allows(Kill("o1", "")));
  Attach("o2");
  EXPECT_FALSE(Allows(Kill("o1", "")));
  EXPECT_TRUE(Allows(Kill("o2", "")));
}

TEST_F(OwnershipTest, AKillThatNamesAWatcherIsAllowedOnlyIfThatWatcherIsTheNewest) {
  EXPECT_THAT(Look("w1"), ElementsAre("watcher_changed"));
  EXPECT_THAT(Look("w1"), IsEmpty());
  EXPECT_THAT(Look(""), IsEmpty());
  EXPECT_TRUE(Allows(Kill("", "w1")));
  EXPECT_THAT(Look("w2"), ElementsAre("watcher_changed"));
  EXPECT_FALSE(Allows(Kill("", "w1")));
}

TEST_F(OwnershipTest, AKillThatNamesOwnerAndWatcherIsAllowedOnlyIfBothAreTheNewest) {
  Attach("o1");
  Look("w1");
  EXPECT_TRUE(Allows(Kill("o1", "w1")));
  EXPECT_FALSE(Allows(Kill("o1", "w2")));
  EXPECT_FALSE(Allows(Kill("o2", "w1")));
}

TEST_F(OwnershipTest, APlannedKillBecomesDueExactlyAtItsTime) {
  EXPECT_THAT(Plan(Kill("", "", In(100))), ElementsAre("kill_planned"));
  EXPECT_EQ(attention_.NextDeadline(), In(100));
  EXPECT_FALSE(attention_.DueKill(In(99)));
  EXPECT_TRUE(attention_.DueKill(In(100)));
}

TEST_F(OwnershipTest, ActivityOfAnotherWatcherCancelsAPlannedKillPermanently) {
  Look("w1");
  Plan(Kill("", "w1", In(100)));
  EXPECT_THAT(Look("w1"), IsEmpty()) << "its own look does not";
  EXPECT_THAT(Look(""), IsEmpty()) << "nor one without a name";
  EXPECT_THAT(Look("w2"), ElementsAre("watcher_changed", "kill_voided"));
  EXPECT_THAT(Look("w1"), ElementsAre("watcher_changed"));
  EXPECT_FALSE(attention_.DueKill(In(1000)));
}

TEST_F(OwnershipTest, ANewOwnerCancelsThePlannedKillOfTheOldOwner) {
  Attach("o1");
  Plan(Kill("o1", "", In(100)));
  Plan(Kill("", "", In(200)));
  EXPECT_THAT(Attach("o2"), ElementsAre("owner_changed", "kill_voided"));
  EXPECT_FALSE(attention_.DueKill(In(199)));
  EXPECT_TRUE(attention_.DueKill(In(200))) << "that one was nobody's";
}

TEST_F(OwnershipTest, AKillThatIsAlreadyDueIsCancelledIfTheJobHasANewOwner) {
  Attach("o1");
  Plan(Kill("o1", "", In(100)));
  ASSERT_TRUE(attention_.Apply(OwnerChanged{{{"o2"}, Duration(0)}}).ok());
  EXPECT_FALSE(attention_.DueKill(In(100)));
  EXPECT_THAT(Take(attention_.DecideVoid()), ElementsAre("kill_voided"));
  EXPECT_THAT(Take(attention_.DecideVoid()), IsEmpty());
}

TEST_F(OwnershipTest, OnlyTheEarliestPlannedKillIsKeptIfSeveralHaveTheSameCondition) {
  Plan(Kill("", "", In(200)));
  EXPECT_THAT(Plan(Kill("", "", In(300))), IsEmpty());
  EXPECT_THAT(Plan(Kill("", "", In(100))), ElementsAre("kill_voided", "kill_planned"));
  EXPECT_EQ(attention_.NextPlanned()->due, In(100));
}

TEST_F(OwnershipTest, AJobWithoutClientActivityIsAbandonedAfterTheWatchTimeout) {
  Attach("o1", Duration(1000));
  EXPECT_FALSE(attention_.IsAbandoned(In(100'000))) << "counted from the AM's start, which has not been said yet";
  attention_.RestartWatchTimeout(kLookedAt);
  EXPECT_EQ(attention_.NextDeadline(), In(1000));
  Look("", In(600));
  EXPECT_FALSE(attention_.IsAbandoned(In(1599)));
  EXPECT_TRUE(attention_.IsAbandoned(In(1600)));
  Attach("o2");
  EXPECT_FALSE(attention_.IsAbandoned(In(9999))) << "the newest owner asks for no timeout";
  EXPECT_FALSE(attention_.NextDeadline());
}

TEST_F(OwnershipTest, TheNextDeadlineIsTheEarlierOfPlannedKillAndWatchTimeout) {
  attention_.RestartWatchTimeout(kLookedAt);
  Plan(Kill("", "", In(5000)));
  Attach("o1", Duration(2000));
  EXPECT_EQ(attention_.NextDeadline(), In(2000));
  Attach("o2", Duration(9000));
  EXPECT_EQ(attention_.NextDeadline(), In(5000));
}

TEST_F(OwnershipTest, ANewMasterDelaysAnOverduePlannedKillByOneSecond) {
  Look("w1");
  Plan(Kill("", "w1", In(100)));
  attention_.RestartWatchTimeout(In(5000));
  EXPECT_FALSE(attention_.DueKill(In(5999)));
  EXPECT_EQ(attention_.NextDeadline(), In(6000));
  EXPECT_TRUE(attention_.DueKill(In(6000)));
}

TEST_F(OwnershipTest, AJournalEntryThatContradictsTheOwnershipStateIsRejected) {
  EXPECT_FALSE(attention_.Apply(KillVoided{1, "x"}).ok());
  EXPECT_FALSE(attention_.Apply(KillPlanned{2, {}}).ok());
  EXPECT_FALSE(attention_.Apply(WatcherChanged{}).ok());
}

}  // namespace
}  // namespace tony::am
