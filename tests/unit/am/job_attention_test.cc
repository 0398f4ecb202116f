// Tests owners, watchers, conditional kills and the watch timeout in the whole core.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/job_builder.h"

namespace tony::am {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

JobSpec Watched() { return JobBuilder().Role("worker", 2).Build(); }
constexpr Duration kTimeout{20'000};
const Claim kFirstClaim = {{"o1"}, Duration(0)};
const Claim kWatched = {{"o1"}, kTimeout};

class JobOwnershipTest : public testing::Test {
 protected:
  void StartAs(const Claim& claim) {
    driver_.Observe(AmStarted{{1}, claim});
    driver_.GrantAll().RegisterAll().RunAll();
  }
  CoreStepResult Kill(KillRequest request) {
    if (request.reason.empty()) request.reason = "enough";
    return driver_.Observe(KillRequested{request});
  }
  KillAnswer AnswerTo(const KillRequest& request) const { return driver_.job().AnswerTo(request, driver_.now()); }
  static std::vector<std::string> Names(const CoreStepResult& turn) {
    std::vector<std::string> names;
    for (const Decision& decision : turn.decisions) names.emplace_back(Name(decision));
    return names;
  }
  Instant In(int64_t ms) const { return driver_.now() + Duration(ms); }

  JobDriver driver_{Watched()};
};

TEST_F(JobOwnershipTest, ANewMasterKeepsTheCurrentOwnerInsteadOfTheSubmitter) {
  StartAs(kFirstClaim);
  EXPECT_EQ(driver_.Status().claim, kFirstClaim);
  driver_.Observe(AttachRequested{{{"o2"}, Duration(0)}});
  driver_.Replay();
  EXPECT_THAT(Names(driver_.Observe(AmStarted{{2}, kFirstClaim})), ElementsAre("epoch_began"));
  EXPECT_EQ(driver_.Status().claim.owner, OwnerToken{"o2"});
}

TEST_F(JobOwnershipTest, TheNextMasterRecordsTheSubmitterAsOwnerIfTheJournalHasNoOwner) {
  driver_.Observe(AmStarted{{1}, kFirstClaim});
  driver_.Replay(1);  // keeps only job_accepted
  driver_.Observe(AmStarted{{2}, kFirstClaim});
  EXPECT_EQ(driver_.Status().claim, kFirstClaim);
}

TEST_F(JobOwnershipTest, AKillRequestOfAReplacedOwnerDoesNothing) {
  StartAs(kFirstClaim);
  driver_.Observe(AttachRequested{{{"o2"}, Duration(0)}});
  EXPECT_EQ(AnswerTo({.if_owner = {"o1"}}), KillAnswer::kFenced);
  EXPECT_THAT(Names(Kill({.if_owner = {"o1"}})), IsEmpty());
  EXPECT_EQ(AnswerTo({.if_owner = {"o2"}}), KillAnswer::kTaken);
  EXPECT_THAT(Names(Kill({.if_owner = {"o2"}})), ElementsAre("job_stopping"));
  EXPECT_FALSE(driver_.job().MayAttach());
}

TEST_F(JobOwnershipTest, APlannedKillEndsTheJobEvenUnderANewMaster) {
  StartAs(kFirstClaim);
  EXPECT_EQ(AnswerTo({.due = In(100)}), KillAnswer::kPlanned);
  EXPECT_EQ(AnswerTo({.due = In(0)}), KillAnswer::kTaken);
  EXPECT_THAT(Names(Kill({.due = In(100)})), ElementsAre("kill_planned"));
  EXPECT_TRUE(driver_.Status().planned_kill);
  driver_.Replay();
  driver_.Observe(AmStarted{{2}, kFirstClaim});
  EXPECT_THAT(Names(driver_.Pass(Duration(999))), IsEmpty()) << "a new AM gives others a second to void it";
  EXPECT_THAT(Names(driver_.Pass(Duration(1))), ElementsAre("job_stopping"));
  EXPECT_EQ(driver_.job().verdict()->cls, OutcomeClass::kKilled);
  EXPECT_EQ(driver_.job().verdict()->message, "enough");
}

// The master that planned the kill died before it removed the record.
TEST_F(JobOwnershipTest, TheNextMasterIgnoresTheRecordOfAKillThatWasPlanned) {
  const KillRequest later{.reason = "enough", .if_watcher = {"w1"}, .due = In(100), .record = "later"};
  const KillRequest latest{.reason = "enough", .if_watcher = {"w1"}, .due = In(200), .record = "latest"};
  StartAs(kFirstClaim);
  driver_.Observe(ClientSeen{{"w1"}});
  EXPECT_THAT(Names(Kill(later)), ElementsAre("kill_planned"));
  EXPECT_THAT(Names(Kill(latest)), ElementsAre("kill_planned", "kill_voided"));
  driver_.Observe(ClientSeen{{"w2"}});
  driver_.Observe(ClientSeen{{"w1"}});
  EXPECT_FALSE(driver_.Status().planned_kill);
  driver_.Replay();
  driver_.Observe(AmStarted{{2}, kFirstClaim});
  driver_.Pass(Duration(10'000));
  for (const KillRequest& request : {later, latest}) {
    EXPECT_EQ(AnswerTo(request), KillAnswer::kFenced);
    EXPECT_THAT(Names(Kill(request)), IsEmpty());
  }
}

// This needs a journal of version 1, in which a crash could fall within a turn.
TEST_F(JobOwnershipTest, TheNextMasterCancelsAPlannedKillOfAReplacedOwner) {
  StartAs(kFirstClaim);
  Kill({.if_owner = kFirstClaim.owner, .due = In(5000)});
  const CoreStepResult turn = driver_.Observe(AttachRequested{{{"o2"}, Duration(0)}});
  ASSERT_THAT(Names(turn), ElementsAre("owner_changed", "kill_voided"));
  driver_.Replay(driver_.journal().size() - 1);
  driver_.WaitWithoutRenewal(Duration(10'000));
  EXPECT_THAT(Names(driver_.Observe(AmStarted{{2}, kFirstClaim})), Contains("kill_voided"));
  driver_.Observe(AttachRequested{kFirstClaim});
  EXPECT_THAT(Names(driver_.Pass(Duration(10'000))), Not(Contains("job_stopping")));
}

TEST_F(JobOwnershipTest, ActivityOfAnotherWatcherDoesNotNotifyWaitingWatchers) {
  StartAs(kFirstClaim);
  driver_.Observe(ClientSeen{{"w1"}});
  const int64_t seq = driver_.job().seq();
  EXPECT_THAT(Names(driver_.Observe(ClientSeen{{"w2"}})), ElementsAre("watcher_changed"));
  EXPECT_EQ(driver_.job().seq(), seq) << "two watchers would wake each other for ever";
}

TEST_F(JobOwnershipTest, AJobWithoutClientActivityIsEndedAsAbandoned) {
  StartAs(kWatched);
  driver_.Wait(kTimeout - Duration(1));
  EXPECT_THAT(Names(driver_.Observe(TimePassed{})), Not(Contains("job_stopping")));
  driver_.Observe(ClientSeen{});
  driver_.Wait(kTimeout - Duration(1));
  EXPECT_EQ(driver_.job().verdict(), std::nullopt);
  driver_.Pass(Duration(1));
  ASSERT_TRUE(driver_.job().verdict());
  EXPECT_EQ(driver_.job().verdict()->cls, OutcomeClass::kAbandoned);
  EXPECT_EQ(driver_.job().verdict()->state, FinalState::kKilled);
}

TEST_F(JobOwnershipTest, ANewMasterRestartsTheWatchTimeout) {
  StartAs(kWatched);
  driver_.Wait(kTimeout - Duration(1));
  driver_.Replay();
  driver_.Observe(AmStarted{{2}, kWatched});
  driver_.Wait(kTimeout - Duration(1));
  EXPECT_THAT(Names(driver_.Observe(TimePassed{})), Not(Contains("job_stopping")));
}

TEST_F(JobOwnershipTest, TheWatchTimeoutRestartsAfterTheMastersLeaseLapsed) {
  StartAs(kWatched);
  driver_.WaitWithoutRenewal(kTimeout * 3);
  driver_.Observe(LeaseRenewed{});
  EXPECT_THAT(Names(driver_.Observe(TimePassed{})), Not(Contains("job_stopping")));
}

TEST_F(JobOwnershipTest, AClientCanAttachToASucceededJobWhileItsTasksStop) {
  StartAs(kFirstClaim);
  driver_.Report("worker:0", Success());
  driver_.Report("worker:1", Success());
  ASSERT_EQ(driver_.job().state(), JobState::kStopping);
  EXPECT_TRUE(driver_.job().MayAttach());
  EXPECT_THAT(Names(driver_.Observe(AttachRequested{{{"o2"}, Duration(0)}})), ElementsAre("owner_changed"));
}

}  // namespace
}  // namespace tony::am
