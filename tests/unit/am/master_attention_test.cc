// The shell's part in owners, watchers, conditional kills and the watch timeout.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "runtime/records/claim_record.h"
#include "tests/support/run_until.h"
#include "tests/unit/am/master_test.h"

namespace tony::am {
namespace {

using testing::Contains;
using testing::Not;

class MasterAttentionTest : public ApplicationMasterTest {
 protected:
  std::shared_ptr<Answered<AttachReply>> Attach(const std::string& owner, Duration timeout = Duration(0)) {
    auto answer = std::make_shared<Answered<AttachReply>>();
    master_.Attach(kToken, {{owner}, timeout}, Reply<AttachReply>(answer));
    return answer;
  }
  std::shared_ptr<Answered<KillReply>> KillIf(const KillRequest& request) {
    auto answer = std::make_shared<Answered<KillReply>>();
    master_.KillIf(kToken, request, Reply<KillReply>(answer));
    return answer;
  }
  Instant In(int64_t ms) const { return loop_.Now() + Duration(ms); }
};

TEST_F(MasterAttentionTest, AttachIsAnsweredWhenItIsWritten) {
  journal_.WriteAll();
  const auto attached = Attach("o1");
  EXPECT_TRUE(attached->open());
  journal_.WriteAll();
  ASSERT_TRUE(attached->value);
  EXPECT_TRUE(attached->value->attached);
  EXPECT_NE(attached->value->status.status_json.find(R"("owner":"o1")"), std::string::npos);
}

TEST_F(MasterAttentionTest, NobodyAttachesToAJobThatIsBeingKilled) {
  Kill();
  const auto attached = Attach("o1");
  journal_.WriteAll();
  ASSERT_TRUE(attached->value);
  EXPECT_FALSE(attached->value->attached);
}

TEST_F(MasterAttentionTest, AFencedKillIsAnsweredAndDoesNothing) {
  Attach("o2");
  const auto killed = KillIf({.reason = "late", .if_owner = {"o1"}});
  journal_.WriteAll();
  ASSERT_TRUE(killed->value);
  EXPECT_EQ(killed->value->answer, KillAnswer::kFenced);
  EXPECT_THAT(journal_.appended, Not(Contains("job_stopping")));
}

TEST_F(MasterAttentionTest, APlannedKillIsAnsweredWhenItIsWritten) {
  Attach("o1");
  journal_.WriteAll();
  const auto planned = KillIf({.reason = "later", .if_owner = {"o1"}, .due = In(3'600'000)});
  EXPECT_TRUE(planned->open());
  journal_.WriteAll();
  ASSERT_TRUE(planned->value);
  EXPECT_EQ(planned->value->answer, KillAnswer::kPlanned);
}

// Its asker's clock may be hours ahead or behind; how long it is to take is the same by both.
TEST_F(MasterAttentionTest, AKillIsDueByTheClockOfTheMaster) {
  Attach("o1");
  journal_.WriteAll();
  const auto planned =
      KillIf({.reason = "later", .if_owner = {"o1"}, .due = In(-3'600'000), .delay = Duration(3'600'000)});
  journal_.WriteAll();
  ASSERT_TRUE(planned->value);
  EXPECT_EQ(planned->value->answer, KillAnswer::kPlanned);
}

TEST_F(MasterAttentionTest, AConditionalKillInTheFolderIsDecidedAndRemoved) {
  Attach("o1");
  journal_.WriteAll();
  ASSERT_TRUE(records_.WriteConditionalKill("a", {.reason = "stale", .if_owner = {"o0"}}).ok());
  ASSERT_TRUE(records_.WriteConditionalKill("b", {.reason = "later", .if_owner = {"o1"}, .due = In(3'600'000)}).ok());
  master_.OnScheduler(SchedulerLost{"gone for a moment"});
  master_.OnScheduler(SchedulerReached{});  // an AM that rules again looks at once
  EXPECT_EQ(records_.ReadConditionalKills()->size(), 1u)
      << "what had nothing to write is settled, the plan waits for it";
  journal_.WriteAll();
  EXPECT_THAT(journal_.appended, Contains("kill_planned"));
  EXPECT_TRUE(records_.ReadConditionalKills()->empty());
}

TEST_F(MasterAttentionTest, WhatWasAnsweredFencedIsNotTakenFromTheFolderLater) {
  const KillRequest kill = {.reason = "late", .if_owner = {"o1"}};
  Attach("o2");
  ASSERT_TRUE(records_.WriteConditionalKill("a", kill).ok());
  const auto killed = KillIf(kill);
  journal_.WriteAll();
  ASSERT_TRUE(killed->value);
  EXPECT_EQ(killed->value->answer, KillAnswer::kFenced);
  Attach("o1");  // has come back before the master looks into the folder
  master_.OnScheduler(SchedulerLost{"gone for a moment"});
  master_.OnScheduler(SchedulerReached{});
  journal_.WriteAll();
  EXPECT_THAT(journal_.appended, Not(Contains("job_stopping")));
}

TEST_F(MasterAttentionTest, TheRequestOfAConditionalKillThatIsTakenStays) {
  Attach("o1");
  journal_.WriteAll();
  ASSERT_TRUE(records_.WriteConditionalKill("a", {.reason = "enough", .if_owner = {"o1"}}).ok());
  master_.OnScheduler(SchedulerLost{"gone for a moment"});
  master_.OnScheduler(SchedulerReached{});
  journal_.WriteAll();
  EXPECT_THAT(journal_.appended, Contains("job_stopping"));
  EXPECT_EQ(records_.ReadConditionalKills()->size(), 1u) << "whoever keeps the job without a journal has to know of it";
}

class KeptClaimTest : public MasterAttentionTest {
 protected:
  Result<ClaimRecord> Kept() const { return ReadClaimRecord(records_); }
  std::string Owner() const {
    const auto kept = Kept();
    return kept.ok() ? kept->claim.owner.value : "none: " + kept.error().message;
  }
  // Neither a new claim.json nor its removal.
  void LockTheFolder() {
    std::filesystem::remove(records_.place() / "claim.json");
    std::filesystem::create_directories(records_.place() / "claim.json/x");
  }
  void LookAs(const std::string& watcher, const std::shared_ptr<Answered<StatusAnswer>>& answer) {
    master_.Watch(kToken, 0, Duration(0), {watcher}, Reply<StatusAnswer>(answer));
  }
};

TEST_F(KeptClaimTest, IsWrittenAsTheMasterBegins) {
  ASSERT_TRUE(Kept().ok()) << Kept().error().message;
  EXPECT_EQ(*Kept(), ClaimRecord{.epoch = {1}});
}

TEST_F(KeptClaimTest, NamesANewOwnerBeforeTheJournalDoes) {
  journal_.WriteAll();
  const auto attached = Attach("o2", Duration(7'000));
  EXPECT_TRUE(attached->open());
  EXPECT_EQ(Kept()->claim, (Claim{{"o2"}, Duration(7'000)}));
}

TEST_F(KeptClaimTest, NamesANewWatcherBeforeItIsAnswered) {
  const auto looked = std::make_shared<Answered<StatusAnswer>>();
  LookAs("w2", looked);
  EXPECT_EQ(Kept()->watcher.value, "w2");
}

TEST_F(KeptClaimTest, HasThePlannedKillsThatAreNotVoid) {
  Attach("o1");
  KillIf({.reason = "late", .if_owner = {"o1"}, .due = In(60'000)});
  ASSERT_EQ(Kept()->planned.size(), 1u);
  EXPECT_EQ(Kept()->planned[0].reason, "late");
  Attach("o2");
  EXPECT_TRUE(Kept()->planned.empty());
}

TEST_F(KeptClaimTest, WhereItCanBeNeitherWrittenNorRemovedNobodyIsToldOfAnother) {
  LockTheFolder();
  const auto attached = Attach("o2");
  const auto looked = std::make_shared<Answered<StatusAnswer>>();
  LookAs("w2", looked);
  journal_.WriteAll();
  ASSERT_TRUE(attached->refusal);
  EXPECT_EQ(attached->refusal->reason, RefusalReason::kNotRuling);
  ASSERT_TRUE(looked->refusal);
  std::filesystem::remove_all(records_.place() / "claim.json");
  EXPECT_TRUE(RunUntil(loop_, [&] { return Owner() == "o2"; })) << Owner();
  const auto again = Attach("o2");
  journal_.WriteAll();
  ASSERT_TRUE(again->value);
  EXPECT_TRUE(again->value->attached);
}

TEST_F(MasterAttentionTest, WhoWaitsForNewsKeepsTheJobFromBeingAbandoned) {
  Attach("o1", Duration(60));
  journal_.WriteAll();
  const auto watch = Watch(/*since=*/1'000'000);
  const Instant until = In(200);
  EventLoop::Timer end = loop_.At(until, [&] { loop_.Stop(); });
  loop_.Run();
  EXPECT_THAT(journal_.appended, Not(Contains("job_stopping")));
  EXPECT_TRUE(watch->open());
}

TEST_F(MasterAttentionTest, AJobThatNobodyAsksForIsEnded) {
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
