// Conditional kills and the watch timeout of a job that no AM can rule, with a real keeper.
#include "runtime/keeper/requests_without_am.h"

#include <gmock/gmock.h>

#include <fstream>

#include "runtime/base/strings.h"
#include "runtime/os/files.h"
#include "tests/unit/keeper/unreadable_job.h"

namespace tony {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class RequestsWithoutAmTest : public UnreadableJobTest {
 protected:
  static constexpr char kObeys[] =
      "trap 'echo asked >termed; exit 0' TERM; until [ -e go ]; do sleep 0.01; done & >ready; wait";

  // `told`: what the AM wrote down before it died.
  void RunOutAfter(ClaimRecord told) {
    Run(kObeys);
    told.epoch = {1};
    ASSERT_TRUE(records_.WriteLease({.epoch = {1}, .am = {SocketOf({1})}}).ok());
    ASSERT_TRUE(WriteClaimRecord(records_, told).ok());
    Damage();
  }
  static ClaimRecord Owned(const std::string& owner, const std::string& watcher = "") {
    return {.claim = {.owner = {owner}}, .watcher = {watcher}};
  }
  static KillRequest IfOwner(const std::string& owner) { return {.reason = "enough", .if_owner = {owner}}; }
  static KillRequest IfWatcher(const std::string& watcher) { return {.reason = "enough", .if_watcher = {watcher}}; }
  static KillRequest After(Duration delay, KillRequest request) {
    request.delay = delay;
    request.due = RealClock().Now() + delay;
    return request;
  }
  void Ask(const std::string& name, const KillRequest& request) {
    ASSERT_TRUE(records_.WriteConditionalKill(name, request).ok());
  }
  FiledAnswer AnswerTo(const std::string& name) {
    EXPECT_TRUE(WaitFor([&] {
      const auto word = ReadFiledAnswer(records_, name);
      return word.ok() && *word;
    })) << "no answer";
    return ReadFiledAnswer(records_, name)->value_or(FiledAnswer{});
  }
  void LeaveOneLook(const std::string& watcher = "") { ASSERT_TRUE(*LeaveLook(records_, {watcher})); }
  bool Runs() const { return !Marked("1-1").empty() && Content("termed").empty(); }
  void ExpectKilled(const std::string& message, OutcomeClass cls = OutcomeClass::kKilled) {
    ASSERT_TRUE(KeeperEnded(keeper_));
    EXPECT_EQ(FinalStatus().state, "KILLED");
    EXPECT_EQ(FinalStatus().verdict->message, message);
    EXPECT_EQ(FinalStatus().verdict->cls, cls);
    EXPECT_EQ(Content("termed"), "asked\n") << "it was given its grace";
    EXPECT_THAT(OfJob(), IsEmpty());
  }
  void PassTime(Duration time) {
    EventLoop::Timer timer = loop_.After(time, [this] { loop_.Stop(); });
    loop_.Run();
  }
};

TEST_F(RequestsWithoutAmTest, AKillByTheOwnerEndsTheJob) {
  RunOutAfter(Owned("o2"));
  Ask("k", IfOwner("o2"));
  EXPECT_EQ(AnswerTo("k"), (FiledAnswer{KillAnswer::kTaken, ""}));
  ExpectKilled("enough");
  EXPECT_EQ(FinalStatus().claim.owner.value, "o2") << "status.json was older";
}

TEST_F(RequestsWithoutAmTest, AKillByAnEarlierOwnerDoesNothingAndIsAnswered) {
  RunOutAfter(Owned("o2"));
  Ask("k", IfOwner("o1"));
  EXPECT_EQ(AnswerTo("k"), (FiledAnswer{KillAnswer::kFenced, ""}));
  EXPECT_TRUE(WaitFor([this] { return records_.ReadConditionalKills()->empty(); }));
  EXPECT_TRUE(Runs());
  Ask("k2", IfOwner("o2"));
  ExpectKilled("enough");
}

TEST_F(RequestsWithoutAmTest, ADelayedKillIsPlannedAndEndsTheJobWhenItIsDue) {
  RunOutAfter(Owned("o1"));
  const Instant begin = loop_.Now();
  Ask("k", After(Duration(3'000), IfOwner("o1")));
  EXPECT_EQ(AnswerTo("k"), (FiledAnswer{KillAnswer::kPlanned, ""}));
  EXPECT_TRUE(Runs());
  ExpectKilled("enough");
  EXPECT_GE(loop_.Now() - begin, Duration(2'900));
}

TEST_F(RequestsWithoutAmTest, ADelayedKillOfAWatcherIsVoidWhenAnotherLooks) {
  RunOutAfter(Owned("o1", "w1"));
  Ask("k", After(Duration(3'000), IfWatcher("w1")));
  EXPECT_EQ(AnswerTo("k").answer, KillAnswer::kPlanned);
  LeaveOneLook("w2");
  ASSERT_TRUE(WaitFor([this] {
    const auto word = ReadFiledAnswer(records_, "k");
    return word.ok() && *word && (*word)->answer == KillAnswer::kFenced;
  }));
  LeaveOneLook("w1");
  PassTime(Duration(3'500));
  EXPECT_TRUE(Runs()) << "void for good";
  Ask("k2", IfWatcher("w1"));
  ExpectKilled("enough");
}

TEST_F(RequestsWithoutAmTest, AWatcherThatCameWhileNobodyRuledIsTheNewest) {
  RunOutAfter(Owned("o1", "w1"));
  LeaveOneLook("w2");
  Ask("k", IfWatcher("w1"));
  EXPECT_EQ(AnswerTo("k").answer, KillAnswer::kFenced);
  Ask("k2", IfWatcher("w2"));
  ExpectKilled("enough");
}

TEST_F(RequestsWithoutAmTest, SignsFromBeforeTheLastMasterDoNotCount) {
  ASSERT_TRUE(WriteFileByRename(records_.place() / "looked", "0 w2\n", false).ok());
  RunOutAfter(Owned("o1", "w1"));
  Ask("k", IfWatcher("w2"));
  EXPECT_EQ(AnswerTo("k").answer, KillAnswer::kFenced);
  Ask("k2", IfWatcher("w1"));
  ExpectKilled("enough");
}

TEST_F(RequestsWithoutAmTest, AKillThatTheMasterHadPlannedIsNotForgotten) {
  ClaimRecord told = Owned("o1");
  told.planned = {{.reason = "planned", .if_owner = {"o1"}, .due = loop_.Now() + Duration(1'000)}};
  RunOutAfter(told);
  ExpectKilled("planned");
}

TEST_F(RequestsWithoutAmTest, WhatWasTakenHoldsForTheNextKeeper) {
  RunOutAfter(Owned("o1"));
  Ask("k", IfOwner("o1"));
  EXPECT_EQ(AnswerTo("k").answer, KillAnswer::kTaken);
  EXPECT_EQ((*records_.ReadKillRequest())->reason, "enough");
  ExpectKilled("enough");
}

TEST_F(RequestsWithoutAmTest, AnotherKeeperDecidesAsThisOne) {
  RunOutAfter(Owned("o2"));
  Ask("k", After(Duration(4'000), IfOwner("o2")));
  AnswerTo("k");
  KillKeeper(keeper_);
  keeper_ = StartKeeper();
  Ask("k1", IfOwner("o1"));
  EXPECT_EQ(AnswerTo("k1").answer, KillAnswer::kFenced);
  ExpectKilled("enough");
}

TEST_F(RequestsWithoutAmTest, WithoutAClaimRecordAConditionalKillIsRefusedAndAPlainOneIsNot) {
  RunThenDamage(kObeys);
  Ask("k", IfOwner("o1"));
  const FiledAnswer word = AnswerTo("k");
  EXPECT_EQ(word.answer, std::nullopt);
  EXPECT_THAT(word.why, HasSubstr("claim.json: no such file or directory; a kill without a condition ends it"));
  EXPECT_TRUE(Runs());
  ASSERT_TRUE(records_.WriteKillRequest({"plain"}).ok());
  ExpectKilled("plain");
}

TEST_F(RequestsWithoutAmTest, ADamagedClaimRecordKillsNobody) {
  RunOutAfter(Owned("o1"));
  KillKeeper(keeper_);
  const std::string whole = Content("claim.json");
  for (const std::string& damaged : {std::string(), whole.substr(0, whole.size() / 2), std::string("\0\0\0", 3)}) {
    ASSERT_TRUE(WriteFileByRename(records_.place() / "claim.json", damaged, false).ok());
    keeper_ = StartKeeper();
    Ask("k", IfOwner("o1"));
    const FiledAnswer word = AnswerTo("k");
    EXPECT_EQ(word.answer, std::nullopt);
    EXPECT_THAT(word.why, HasSubstr("claim.json: "));
    EXPECT_TRUE(Runs());
    RemoveFiledAnswer(records_, "k");
    KillKeeper(keeper_);
  }
  keeper_ = StartKeeper();
  ASSERT_TRUE(records_.WriteKillRequest({"plain"}).ok());
  ExpectKilled("plain");
}

TEST_F(RequestsWithoutAmTest, AClaimRecordOfAnEarlierMasterIsNotBelieved) {
  RunOutAfter(Owned("o1"));
  KillKeeper(keeper_);
  ASSERT_TRUE(records_.WriteLease({.epoch = {2}, .am = {SocketOf({2})}}).ok());
  keeper_ = StartKeeper();
  Ask("k", IfOwner("o1"));
  EXPECT_THAT(AnswerTo("k").why, HasSubstr("not the one that ruled last"));
  EXPECT_TRUE(Runs());
  ASSERT_TRUE(records_.WriteKillRequest({"plain"}).ok());
  ExpectKilled("plain");
}

TEST_F(RequestsWithoutAmTest, AJobThatNobodyLooksAtIsAbandoned) {
  ClaimRecord told = Owned("o1");
  told.claim.watch_timeout = Duration(1'000);
  const Instant begin = loop_.Now();
  RunOutAfter(told);
  ExpectKilled("nobody has asked for the job for 1.0 s (watch timeout)", OutcomeClass::kAbandoned);
  EXPECT_GE(loop_.Now() - begin, Duration(1'000));
}

TEST_F(RequestsWithoutAmTest, WhoeverLooksKeepsTheJobFromBeingAbandoned) {
  ClaimRecord told = Owned("o1");
  told.claim.watch_timeout = Duration(1'000);
  RunOutAfter(told);
  for (int i = 0; i < 4; ++i) {
    LeaveOneLook();
    PassTime(Duration(2'000));
  }
  EXPECT_TRUE(Runs());
  ExpectKilled("nobody has asked for the job for 1.0 s (watch timeout)", OutcomeClass::kAbandoned);
}

TEST_F(RequestsWithoutAmTest, TheStatusNamesTheOwnerThatTheMasterHadTold) {
  RunOutAfter(Owned("o2", "w2"));
  const auto status = records_.ReadStatus();
  EXPECT_EQ((*status)->claim.owner.value, "o2");
  EXPECT_EQ((*status)->watcher.value, "w2");
  ASSERT_TRUE(records_.WriteKillRequest({"plain"}).ok());
  ExpectKilled("plain");
}

class GoneFolderTest : public KeeperFixture {
 protected:
  static constexpr char kBusy[] = "until false; do sleep 0.01; done & >ready; wait";
  // As `rm -rf` does, also while others write there.
  void RemoveFolder() {
    ASSERT_TRUE(WaitFor([this] {
      std::error_code error;
      std::filesystem::remove_all(records_.place(), error);
      return !std::filesystem::exists(records_.place());
    }));
  }
};

TEST_F(GoneFolderTest, TheKeeperEndsWhatRunsAndLeaves) {
  const pid_t keeper = StartKeeper();
  BecomeAm({1});
  Launch("1-1", kBusy);
  ASSERT_TRUE(WaitForFile("ready"));
  scheduler_.reset();
  RemoveFolder();
  // Ten seconds from the last time that the keeper itself stood still.
  ASSERT_TRUE(WaitFor([&] { return keepers_[keeper].has_value(); }, std::chrono::seconds(60)));
  EXPECT_EQ(ToString(*keepers_[keeper]), "exit code 66");
  EXPECT_THAT(OfJob(), IsEmpty());
}

}  // namespace
}  // namespace tony
