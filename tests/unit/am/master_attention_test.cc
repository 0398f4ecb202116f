// Tests the shell's part in owners, watchers, conditional kills and the watch timeout.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/run_until.h"
#include "tests/unit/am/master_test.h"

namespace tony::am {
namespace {

using testing::Contains;
using testing::Not;

class MasterOwnershipTest : public ApplicationMasterTest {
 protected:
  std::shared_ptr<Answered<AttachReply>> Attach(const std::string& owner, Duration timeout = Duration(0)) {
    auto answer = std::make_shared<Answered<AttachReply>>();
    master_.Attach(kToken, {{owner}, timeout}, Reply<AttachReply>(answer));
    return answer;
  }
  Instant In(int64_t ms) const { return loop_.Now() + Duration(ms); }
};

TEST_F(MasterOwnershipTest, AnAttachCallIsAnsweredOnlyAfterTheNewOwnerIsInTheJournal) {
  journal_.WriteAll();
  const auto attached = Attach("o1");
  EXPECT_TRUE(attached->open());
  journal_.WriteAll();
  ASSERT_TRUE(attached->value);
  EXPECT_TRUE(attached->value->attached);
  EXPECT_NE(attached->value->status.status_json.find(R"("owner":"o1")"), std::string::npos);
}

TEST_F(MasterOwnershipTest, AttachingToAJobThatIsBeingKilledIsRefused) {
  Kill();
  const auto attached = Attach("o1");
  journal_.WriteAll();
  ASSERT_TRUE(attached->value);
  EXPECT_FALSE(attached->value->attached);
}

TEST_F(MasterOwnershipTest, AKillByAReplacedOwnerIsFencedAndDoesNothing) {
  Attach("o2");
  const auto killed = Kill({.reason = "late", .if_owner = {"o1"}});
  journal_.WriteAll();
  ASSERT_TRUE(killed->value);
  EXPECT_EQ(killed->value->answer, KillAnswer::kFenced);
  EXPECT_THAT(journal_.appended, Not(Contains("job_stopping")));
}

TEST_F(MasterOwnershipTest, APlannedKillIsAnsweredOnlyAfterItIsInTheJournal) {
  Attach("o1");
  journal_.WriteAll();
  const auto planned = Kill({.reason = "later", .if_owner = {"o1"}, .due = In(3'600'000)});
  EXPECT_TRUE(planned->open());
  journal_.WriteAll();
  ASSERT_TRUE(planned->value);
  EXPECT_EQ(planned->value->answer, KillAnswer::kPlanned);
}

// The requester's clock may be hours ahead or behind. The delay until the kill is the same by both clocks.
TEST_F(MasterOwnershipTest, TheDelayOfAPlannedKillIsMeasuredByTheMastersClock) {
  Attach("o1");
  journal_.WriteAll();
  const auto planned =
      Kill({.reason = "later", .if_owner = {"o1"}, .due = In(-3'600'000), .delay = Duration(3'600'000)});
  journal_.WriteAll();
  ASSERT_TRUE(planned->value);
  EXPECT_EQ(planned->value->answer, KillAnswer::kPlanned);
}

TEST_F(MasterOwnershipTest, TheRequestFileOfAConditionalKillIsRemovedOnceTheKillIsFencedOrPlanned) {
  Attach("o1");
  journal_.WriteAll();
  // An AM that becomes leader again checks the folder at once.
  const auto look = [this] {
    master_.OnScheduler(SchedulerLost{"gone for a moment"});
    master_.OnScheduler(SchedulerReached{});
  };
  ASSERT_TRUE(records_.WriteKill({.reason = "stale", .if_owner = {"o0"}}).ok());
  look();
  EXPECT_TRUE(records_.ReadKills()->empty()) << "there is nothing to write";
  ASSERT_TRUE(records_.WriteKill({.reason = "later", .if_owner = {"o1"}, .due = In(3'600'000)}).ok());
  look();
  EXPECT_EQ(records_.ReadKills()->size(), 1u) << "the plan is not written yet";
  journal_.WriteAll();
  EXPECT_THAT(journal_.appended, Contains("kill_planned"));
  EXPECT_TRUE(records_.ReadKills()->empty());
}

TEST_F(MasterOwnershipTest, AFencedKillIsNotExecutedFromItsRequestFileWhenTheOldOwnerReturns) {
  const KillRequest kill = {.reason = "late", .if_owner = {"o1"}};
  Attach("o2");
  ASSERT_TRUE(records_.WriteKill(kill).ok());
  const auto killed = Kill(kill);
  journal_.WriteAll();
  ASSERT_TRUE(killed->value);
  EXPECT_EQ(killed->value->answer, KillAnswer::kFenced);
  // The owner returns before the master checks the folder.
  Attach("o1");
  master_.OnScheduler(SchedulerLost{"gone for a moment"});
  master_.OnScheduler(SchedulerReached{});
  journal_.WriteAll();
  EXPECT_THAT(journal_.appended, Not(Contains("job_stopping")));
}

TEST_F(MasterOwnershipTest, TheRequestFileOfAnAcceptedConditionalKillIsNotRemoved) {
  Attach("o1");
  journal_.WriteAll();
  ASSERT_TRUE(records_.WriteKill({.reason = "enough", .if_owner = {"o1"}}).ok());
  master_.OnScheduler(SchedulerLost{"gone for a moment"});
  master_.OnScheduler(SchedulerReached{});
  journal_.WriteAll();
  EXPECT_THAT(journal_.appended, Contains("job_stopping"));
  EXPECT_EQ(records_.ReadKills()->size(), 1u) << "whoever keeps the job without a journal has to know of it";
}

TEST_F(MasterOwnershipTest, AJobIsNotAbandonedWhileAWatcherWaits) {
  Attach("o1", Duration(60));
  journal_.WriteAll();
  const auto watch = Watch(/*since=*/1'000'000);
  const Instant until = In(200);
  EventLoop::Timer end = loop_.At(until, [&] { loop_.Stop(); });
  loop_.Run();
  EXPECT_THAT(journal_.appended, Not(Contains("job_stopping")));
  EXPECT_TRUE(watch->open());
}

TEST_F(MasterOwnershipTest, AJobWithoutClientActivityIsStoppedAfterTheWatchTimeout) {
  Attach("o1", Duration(30));
  journal_.WriteAll();
  EventLoop::Timer look;
  const std::function<void()> poll = [&] {
    if (testing::Value(journal_.appended, Contains("job_stopping"))) return loop_.Stop();
    look = loop_.After(Duration(5), poll);
  };
  poll();
  EventLoop::Timer limit = loop_.After(Duration(20'000), [&] { loop_.Stop(); });
  loop_.Run();
  EXPECT_THAT(journal_.appended, Contains("job_stopping"));
}

}  // namespace
}  // namespace tony::am
