#include "runtime/ledger/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tony {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using enum TurnStep::Kind;

const Instant kStart = FromMillis(1'700'000'000'000);

// A machine of 1000 MB; "ann's 3" is the job "3" of user 1. Our job is user 0's.
class LedgerTurnTest : public testing::Test {
 protected:
  static LedgerEntry Job(int64_t user, int64_t number, int64_t memory_mb, Place place = Place::kInLine) {
    return {.number = number,
            .job = {"job-" + std::to_string(number)},
            .user = user,
            .ask = {.memory_mb = memory_mb},
            .place = place,
            .keeper = {.pid = 1}};
  }
  TurnStep Next(const std::vector<LedgerEntry>& others, const LedgerEntry& mine, Duration after = Duration(0)) {
    std::vector<LedgerEntry> entries = others;
    entries.push_back(mine);
    return turn_.Next(Ledger(machine_, entries), mine, kStart + after);
  }

  Machine machine_ = {.memory_mb = 1000, .gpus = {0, 1}};
  LedgerTurn turn_;
};

TEST_F(LedgerTurnTest, AloneItIsAdmittedAtOnce) {
  LedgerEntry mine = Job(0, 1, 1000);
  mine.ask.gpus = 1;
  const TurnStep step = Next({}, mine);
  EXPECT_EQ(step.kind, kAdmit);
  EXPECT_THAT(step.gpus, ElementsAre(0));
}

TEST_F(LedgerTurnTest, ItWaitsForThoseWhoWereThereAndNotForThoseWhoCome) {
  const LedgerEntry mine = Job(0, 5, 600), ann = Job(1, 3, 500), runs = Job(2, 1, 600, Place::kAdmitted);
  EXPECT_THAT(Next({runs, ann}, mine).waits_for, ElementsAre(ann));
  EXPECT_THAT(Next({runs, ann, Job(3, 0, 500), Job(1, 1, 500)}, mine).waits_for, ElementsAre(ann));
  EXPECT_EQ(Next({Job(3, 0, 100), Job(1, 1, 100)}, mine).kind, kAdmit) << "whatever number he gives himself";
}

TEST_F(LedgerTurnTest, OfEachOtherUserItWaitsForOneJob) {
  const LedgerEntry mine = Job(0, 9, 600), runs = Job(2, 1, 600, Place::kAdmitted);
  EXPECT_THAT(Next({runs, Job(1, 3, 500), Job(1, 4, 500), Job(3, 5, 500)}, mine).waits_for,
              ElementsAre(Job(1, 3, 500), Job(3, 5, 500)));
  EXPECT_THAT(Next({runs, Job(1, 4, 500), Job(3, 5, 500)}, mine).waits_for, ElementsAre(Job(3, 5, 500)));
}

TEST_F(LedgerTurnTest, WhoCouldTakeHisTurnAndDoesNotIsPassedAfterAWhile) {
  const LedgerEntry mine = Job(0, 5, 600), ann = Job(1, 3, 500);
  const TurnStep first = Next({ann}, mine);
  EXPECT_EQ(first.kind, kWait);
  EXPECT_EQ(first.look_again, kStart + kTurnPatience);
  EXPECT_EQ(Next({ann}, mine, kTurnPatience - Duration(1)).kind, kWait);
  EXPECT_EQ(Next({ann}, mine, kTurnPatience).kind, kAdmit);
  EXPECT_THAT(turn_.Passed(), ElementsAre(ann));
}

TEST_F(LedgerTurnTest, WhoCannotTakeHisTurnIsWaitedFor) {
  const LedgerEntry mine = Job(0, 5, 100), ann = Job(1, 3, 500), runs = Job(2, 1, 600, Place::kAdmitted);
  EXPECT_EQ(Next({ann, runs}, mine).kind, kWait);
  EXPECT_EQ(Next({ann, runs}, mine, 10 * kTurnPatience).kind, kWait);
  EXPECT_EQ(Next({ann}, mine, 10 * kTurnPatience).kind, kWait) << "his time begins when there is room for him";
}

TEST_F(LedgerTurnTest, WhoIsFurtherBackHasMoreTimeAsHeHasToPassOthers) {
  const LedgerEntry mine = Job(0, 9, 600), ann = Job(1, 3, 500), bob = Job(2, 4, 500);
  EXPECT_EQ(Next({ann, bob}, mine).kind, kWait);
  EXPECT_THAT(Next({ann, bob}, mine, kTurnPatience).waits_for, ElementsAre(bob));
  EXPECT_EQ(Next({ann, bob}, mine, kTurnPatience + kTurnPatienceMore).kind, kAdmit);
}

TEST_F(LedgerTurnTest, WhoseLimitsAreUsedUpHoldsNobodyUp) {
  machine_.user_limits.memory_mb = 700;
  const LedgerEntry mine = Job(0, 9, 100), has = Job(1, 1, 400, Place::kAdmitted);
  EXPECT_EQ(Next({has, Job(1, 3, 400)}, mine).kind, kAdmit);
}

TEST_F(LedgerTurnTest, ItStepsAsideWhenItsUserHasAllThatHeMayHave) {
  machine_.user_limits.memory_mb = 700;
  const TurnStep step = Next({Job(0, 1, 400, Place::kAdmitted)}, Job(0, 9, 400));
  EXPECT_EQ(step.kind, kStepAside);
  EXPECT_THAT(step.why, HasSubstr("may have 700 MB at a time"));
}

TEST_F(LedgerTurnTest, AsideItWaitsForTheLastOfItsUsersThatGoesBefore) {
  const LedgerEntry mine = Job(0, 9, 100, Place::kAside);
  const LedgerEntry other = Job(0, 7, 100, Place::kAside);
  EXPECT_THAT(Next({Job(0, 3, 100), Job(0, 5, 100, Place::kAside), other}, mine).waits_for, ElementsAre(other));
  EXPECT_THAT(Next({Job(0, 3, 100)}, mine).waits_for, ElementsAre(Job(0, 3, 100)));
}

TEST_F(LedgerTurnTest, AsideItJoinsTheEndOfTheLineWhenItsUsersOtherJobIsAdmitted) {
  const TurnStep step = Next({Job(0, 3, 100, Place::kAdmitted), Job(1, 12, 100)}, Job(0, 9, 100, Place::kAside));
  EXPECT_EQ(step.kind, kJoin);
  EXPECT_EQ(step.number, 13);
  EXPECT_FALSE(step.displaced);
}

TEST_F(LedgerTurnTest, AHigherPriorityTakesThePlaceOfItsUsersJobInLine) {
  LedgerEntry mine = Job(0, 9, 100, Place::kAside);
  mine.priority = 1;
  const TurnStep step = Next({Job(0, 3, 100), Job(1, 2, 100)}, mine);
  EXPECT_EQ(step.kind, kJoin);
  EXPECT_EQ(step.number, 3);
  EXPECT_EQ(step.displaced, Job(0, 3, 100));
}

TEST_F(LedgerTurnTest, AKeeperOfAnEarlierReleaseKeepsItsPlace) {
  LedgerEntry mine = Job(0, 9, 100, Place::kAside), old = Job(0, 3, 100);
  mine.priority = 1;
  old.keeper = {};
  EXPECT_EQ(Next({old}, mine).kind, kWait);
}

TEST_F(LedgerTurnTest, APlaceThatItsUserGivesToAnotherOfHisJobsIsStillHis) {
  const LedgerEntry mine = Job(0, 9, 600), ann = Job(1, 3, 500), runs = Job(2, 1, 600, Place::kAdmitted);
  Next({runs, ann}, mine);
  LedgerEntry aside = ann, urgent = Job(1, 3, 500);
  aside.place = Place::kAside;
  urgent.job = {"urgent"};
  EXPECT_THAT(Next({runs, aside, urgent}, mine).waits_for, ElementsAre(urgent));
  EXPECT_THAT(Next({runs, urgent}, mine).waits_for, ElementsAre(urgent));
  LedgerEntry another = Job(1, 3, 500);
  another.job = {"another"};
  EXPECT_THAT(Next({runs, another}, mine).waits_for, IsEmpty()) << "a place is used once";
}

TEST(LedgerRoomTest, OfTwoThatWereAdmittedAtOnceThereIsRoomForOne) {
  const Machine machine = {.memory_mb = 1000, .gpus = {0, 1}};
  LedgerEntry a = {.number = 1, .job = {"a"}, .ask = {.memory_mb = 600}, .place = Place::kAdmitted};
  LedgerEntry b = a;
  b.job = {"b"};
  EXPECT_TRUE(HasRoomFor(a, Ledger(machine, {a})));
  EXPECT_FALSE(HasRoomFor(a, Ledger(machine, {a, b})));
  EXPECT_FALSE(HasRoomFor(a, Ledger(machine, {b}))) << "it is not there";
  a.ask = b.ask = {.gpus = 1};
  a.gpus = b.gpus = {1};
  EXPECT_FALSE(HasRoomFor(a, Ledger(machine, {a, b})));
}

}  // namespace
}  // namespace tony
