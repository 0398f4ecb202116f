#include "runtime/ledger/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <optional>
#include <random>
#include <set>

namespace tony {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using enum TurnStep::Kind;

const Machine kMachine = {.memory_mb = 24000, .cores = 4, .gpus = {0, 1, 2, 3}};

LedgerEntry Waits(int64_t number, int64_t memory_mb, int64_t gpus = 0) {
  return {.number = number, .job = {"job-" + std::to_string(number)}, .ask = {.memory_mb = memory_mb, .gpus = gpus}};
}

LedgerEntry Runs(int64_t number, int64_t memory_mb, std::vector<int> gpus = {}) {
  LedgerEntry entry = Waits(number, memory_mb, static_cast<int64_t>(gpus.size()));
  entry.place = Place::kAdmitted;
  entry.gpus = std::move(gpus);
  return entry;
}

RoleSpec Role(const std::string& name, int instances, int64_t memory_mb, int gpus = 0) {
  return {.name = name, .instances = instances, .resources = {.memory_mb = memory_mb, .gpus = gpus}};
}

TEST(LedgerTest, AnAskIsTheSumOverAllTasks) {
  JobSpec spec;
  spec.roles = {Role("ps", 2, 1000), Role("worker", 3, 2000, 2)};
  EXPECT_EQ(AskOf(spec), (LedgerAsk{.memory_mb = 8000, .vcores = 5, .gpus = 6}));
}

TEST(LedgerTest, WhatIsFreeIsAdmittedAndGetsTheLowestGpus) {
  const Ledger ledger(kMachine, {Runs(1, 10000, {1}), Waits(2, 14000, 2)});
  EXPECT_TRUE(ledger.MayBeAdmitted(Waits(2, 14000, 2)));
  EXPECT_THAT(ledger.GpusFor(Waits(2, 14000, 2)), ElementsAre(0, 2));
  EXPECT_EQ(ledger.FreeMemory(), 14000);
  EXPECT_EQ(ledger.NextNumber(), 3);
}

TEST(LedgerTest, GpusOfTheSubmittersChoiceAreTheOnlyOnesThatCount) {
  JobSpec spec;
  spec.roles = {Role("worker", 1, 1, 2)};
  const auto among = [&](const std::vector<std::string>& environment) { return AskOf(spec, environment).gpus_among; };
  EXPECT_THAT(among({"CUDA_VISIBLE_DEVICES=2, 3"}), ElementsAre(2, 3));
  for (const std::string text : {"", "-1", "GPU-4f2a", "0,MIG-1", "1;2", "99999999999"})
    EXPECT_THAT(among({"CUDA_VISIBLE_DEVICES=" + text}), IsEmpty()) << text;
  EXPECT_THAT(among({"CUDA_VISIBLE_DEVICES=1", "TONY_JOB_ID=j"}), IsEmpty()) << "a keeper chose them, not a person";
  const Ledger ledger(kMachine, {Runs(1, 1, {2})});
  LedgerEntry entry = Waits(2, 1, 1);
  entry.ask.gpus_among = {2, 3};
  EXPECT_THAT(ledger.GpusFor(entry), ElementsAre(3));
  entry.ask.gpus = 2;
  EXPECT_FALSE(ledger.MayBeAdmitted(entry));
  EXPECT_EQ(ledger.WhyItWaits(entry), "waits for 2 GPUs of CUDA_VISIBLE_DEVICES=2,3: 1 of 2 is free");
  entry.ask.gpus = 3;
  EXPECT_FALSE(EverFits(entry.ask, kMachine, 0));
}

TEST(LedgerTest, OneMegabyteOrOneGpuTooManyWaits) {
  const Ledger ledger(kMachine, {Runs(1, 10000, {0, 1, 2})});
  EXPECT_FALSE(ledger.MayBeAdmitted(Waits(2, 14001)));
  EXPECT_FALSE(ledger.MayBeAdmitted(Waits(2, 0, 2)));
  EXPECT_TRUE(ledger.MayBeAdmitted(Waits(2, 14000, 1)));
}

TEST(LedgerTest, CoresAdmitNobody) {
  LedgerEntry entry = Waits(1, 1);
  entry.ask.vcores = 1000;
  EXPECT_TRUE(Ledger(kMachine, {entry}).MayBeAdmitted(entry));
}

TEST(LedgerTest, ASmallJobDoesNotPassALargeOneThatWaits) {
  const Ledger ledger(kMachine, {Runs(1, 14000), Waits(2, 14000), Waits(3, 100)});
  EXPECT_FALSE(ledger.MayBeAdmitted(ledger.entries()[1]));
  EXPECT_FALSE(ledger.MayBeAdmitted(ledger.entries()[2]));
}

TEST(LedgerTest, AJobThatCanNeverFitHoldsNobodyUp) {
  const Ledger ledger(kMachine, {Waits(1, 24001), Waits(2, 24000), Waits(3, 0, 5)});
  EXPECT_FALSE(ledger.MayBeAdmitted(ledger.entries()[0]));
  EXPECT_TRUE(ledger.MayBeAdmitted(ledger.entries()[1]));
  EXPECT_FALSE(ledger.MayBeAdmitted(ledger.entries()[2]));
}

TEST(LedgerTest, WhoHoldsMoreThanThereIsLeavesNothingFree) {
  const Ledger ledger(kMachine, {Runs(1, 20000, {0, 0, 9}), Runs(2, 20000)});
  EXPECT_EQ(ledger.FreeMemory(), 0);
  EXPECT_THAT(ledger.FreeGpus(), ElementsAre(1, 2, 3));
  EXPECT_TRUE(ledger.MayBeAdmitted(Waits(3, 0, 1)));
  EXPECT_FALSE(ledger.MayBeAdmitted(Waits(3, 1)));
}

TEST(LedgerTest, TheReasonSaysWhatIsFreeAndHowManyAreBefore) {
  const Ledger ledger(kMachine, {Runs(1, 19904, {0, 1, 2}), Waits(2, 8192), Waits(3, 8192, 2), Waits(4, 1, 0)});
  const auto& entries = ledger.entries();
  EXPECT_EQ(ledger.WhyItWaits(entries[1]), "waits for 8192 MB of memory: 4096 of 24000 MB are free");
  EXPECT_EQ(ledger.WhyItWaits(entries[2]),
            "waits for 8192 MB of memory: 4096 of 24000 MB are free and 2 GPUs: 1 of 4 is free; 1 job is before it");
  EXPECT_EQ(ledger.WhyItWaits(entries[3]), "waits for its turn; 2 jobs are before it");
  EXPECT_EQ(ledger.WhyItWaits(Waits(9, 25000)),
            "asks for 25000 MB of memory and 0 GPUs, this machine has only 24000 MB and 4 GPUs");
}

TEST(LedgerTest, AnAskBeyondTheMachineIsRefusedWithBothNumbersAndTheKey) {
  JobSpec spec;
  spec.roles = {Role("ps", 1, 2048), Role("worker", 4, 2048)};
  const Status refused = CheckEverFits(spec, {.memory_mb = 7800}, 0);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(refused.error().message,
            "the job asks for 10240 MB of memory (5 tasks: ps 1 x 2048 MB, worker 4 x 2048 MB), this machine has 7800 "
            "MB; set tony.worker.memory or tony.worker.instances");
  EXPECT_TRUE(CheckEverFits(spec, {.memory_mb = 10240}, 0).ok());
}

TEST(LedgerTest, GpusBeyondTheMachineAreRefusedWithBothNumbersAndTheKey) {
  JobSpec spec;
  spec.roles = {Role("ps", 1, 1), Role("worker", 1, 1, 2)};
  EXPECT_EQ(CheckEverFits(spec, {.memory_mb = 100}, 0).error().message,
            "the job asks for 2 GPUs (1 task: worker 1 x 2), this machine has none; set tony.worker.gpus");
  EXPECT_THAT(CheckEverFits(spec, {.memory_mb = 100, .gpus = {3}}, 0).error().message,
              HasSubstr("this machine has 1; set"));
}

TEST(LedgerTest, AJobWithoutRolesIsToldTheKeyItHas) {
  JobSpec spec;
  spec.roles = {Role("driver", 1, 2048)};
  EXPECT_THAT(CheckEverFits(spec, {.memory_mb = 1000}, 0).error().message, HasSubstr("set tony.driver.memory"))
      << "a role may have this name";
  spec.roles[0].key_prefix = "tony.am";
  EXPECT_THAT(CheckEverFits(spec, {.memory_mb = 1000}, 0).error().message, HasSubstr("set tony.am.memory"));
}

TEST(LedgerTest, NumbersStopGrowingWhereNoLedgerComesTo) {
  EXPECT_EQ(Ledger(kMachine, {}).NextNumber(), 1);
  EXPECT_EQ(Ledger(kMachine, {Waits(kMostNumber, 1)}).NextNumber(), kMostNumber);
}

LedgerEntry Of(int64_t user, LedgerEntry entry) {
  entry.user = user;
  return entry;
}

TEST(LedgerTest, OfEachOtherUserOneJobIsBeforeANewOne) {
  const Ledger ledger(kMachine, {Of(1, Waits(1, 10)), Of(1, Waits(2, 10)), Of(2, Waits(3, 10)), Of(3, Waits(4, 10))});
  EXPECT_EQ(ledger.Before(ledger.entries()[3]), (std::vector{ledger.entries()[0], ledger.entries()[2]}));
}

TEST(LedgerTest, AJobThatStandsAsideIsBeforeNobody) {
  LedgerEntry aside = Of(1, Waits(1, 10));
  aside.place = Place::kAside;
  const Ledger ledger(kMachine, {aside, Of(2, Waits(2, 10))});
  EXPECT_TRUE(ledger.MayBeAdmitted(ledger.entries()[1]));
}

class UserLimitsTest : public testing::Test {
 protected:
  UserLimitsTest() {
    machine_.user_limits = {.memory_mb = 8000, .gpus = 1};
    machine_.users[7] = {.memory_mb = 12000};
  }
  Machine machine_ = kMachine;
};

TEST_F(UserLimitsTest, AUsersOwnLimitsGoBeforeThoseOfAll) {
  EXPECT_EQ(machine_.LimitsOf(1), (UserLimits{.memory_mb = 8000, .gpus = 1}));
  EXPECT_EQ(machine_.LimitsOf(7), (UserLimits{.memory_mb = 12000, .gpus = 1}));
}

TEST_F(UserLimitsTest, AnAskBeyondThemIsRefusedWithBothNumbers) {
  JobSpec spec;
  spec.roles = {Role("worker", 3, 3000)};
  EXPECT_EQ(CheckEverFits(spec, machine_, 1).error().message,
            "the job asks for 9000 MB of memory (3 tasks: worker 3 x 3000 MB), by machine.json its user may have 8000 "
            "MB at a time; set tony.worker.memory or tony.worker.instances");
  EXPECT_TRUE(CheckEverFits(spec, machine_, 7).ok());
  spec.roles = {Role("worker", 1, 1, 2)};
  EXPECT_THAT(CheckEverFits(spec, machine_, 1).error().message, HasSubstr("by machine.json its user may have 1 at"));
}

TEST_F(UserLimitsTest, WhoHasUsedThemUpWaitsAndHoldsNobodyUp) {
  const Ledger ledger(machine_, {Of(1, Runs(1, 6000)), Of(1, Waits(2, 2001)), Of(2, Waits(3, 8000))});
  EXPECT_FALSE(ledger.Fits(ledger.entries()[1]));
  EXPECT_EQ(ledger.WhyItWaits(ledger.entries()[1]),
            "waits for 2001 MB of memory: its user may have 8000 MB at a time, by machine.json, and has 6000");
  EXPECT_TRUE(ledger.MayBeAdmitted(ledger.entries()[2]));
}

TEST_F(UserLimitsTest, WhatAUserHoldsBeyondThemDoesNotCount) {
  const Ledger ledger(machine_, {Of(1, Runs(1, 20000, {0, 1, 2}))});
  EXPECT_EQ(ledger.FreeMemory(), 16000);
  EXPECT_THAT(ledger.FreeGpus(), ElementsAre(1, 2, 3));
}

// A machine with jobs that come, are admitted as soon as they may be, and leave or die, in an order from a seed.
class Traffic {
 public:
  explicit Traffic(unsigned seed) : random_(seed) {}

  void Step() {
    switch (Below(3)) {
      case 0:
        return Arrive();
      case 1:
        return Leave();
      default:
        AdmitOne();
    }
  }
  void Arrive() {
    const Ledger ledger(machine_, entries_);
    // One in sixteen can never fit.
    const int64_t most = Below(16) == 0 ? 2 : 1;
    entries_.push_back(Waits(ledger.NextNumber(), Below(machine_.memory_mb * most + 1), Below(4 * most + 1)));
  }
  void Leave() {
    if (!entries_.empty()) entries_.erase(entries_.begin() + Below(static_cast<int64_t>(entries_.size())));
  }
  // Somebody, whoever is woken first, looks and admits himself.
  bool AdmitOne() {
    const Ledger ledger(machine_, entries_);
    std::vector<size_t> order(entries_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::shuffle(order.begin(), order.end(), random_);
    for (const size_t i : order) {
      LedgerEntry& entry = entries_[i];
      if (entry.admitted() || !ledger.MayBeAdmitted(entry)) continue;
      ExpectAllBeforeAreAdmitted(entry);
      entry.gpus = ledger.GpusFor(entry);
      EXPECT_EQ(static_cast<int64_t>(entry.gpus.size()), entry.ask.gpus);
      entry.place = Place::kAdmitted;
      return true;
    }
    return false;
  }
  void AdmitAll() {
    while (AdmitOne()) {
    }
  }
  void ExpectNotOvercommitted() const {
    int64_t memory = 0;
    std::vector<int> gpus;
    for (const LedgerEntry& entry : entries_) {
      if (!entry.admitted()) continue;
      memory += entry.ask.memory_mb;
      gpus.insert(gpus.end(), entry.gpus.begin(), entry.gpus.end());
    }
    EXPECT_LE(memory, machine_.memory_mb);
    EXPECT_EQ(std::set<int>(gpus.begin(), gpus.end()).size(), gpus.size());
    EXPECT_LE(gpus.size(), machine_.gpus.size());
  }
  // Whoever holds something leaves in the end; then everybody who fits at all has had his turn.
  void Drain() {
    for (;;) {
      AdmitAll();
      const auto holder = std::ranges::find(entries_, Place::kAdmitted, &LedgerEntry::place);
      if (holder == entries_.end()) break;
      entries_.erase(holder);
    }
    for (const LedgerEntry& entry : entries_) EXPECT_FALSE(EverFits(entry.ask, machine_, 0)) << entry.number;
  }

 private:
  int64_t Below(int64_t end) { return std::uniform_int_distribution<int64_t>(0, end - 1)(random_); }
  void ExpectAllBeforeAreAdmitted(const LedgerEntry& entry) const {
    for (const LedgerEntry& other : entries_) {
      const bool admitted = other.number >= entry.number || !EverFits(other.ask, machine_, 0) || other.admitted();
      EXPECT_TRUE(admitted) << other.number;
    }
  }

  const Machine machine_ = {.memory_mb = 1000, .gpus = {0, 1, 4, 7}};
  std::mt19937 random_;
  std::vector<LedgerEntry> entries_;
};

TEST(LedgerPropertyTest, NothingIsEverGivenTwiceAndTheOrderIsKept) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    Traffic traffic(seed);
    for (int step = 0; step < 100; ++step) {
      traffic.Step();
      traffic.ExpectNotOvercommitted();
    }
  }
}

TEST(LedgerPropertyTest, AsLongAsHoldersLeaveNobodyWaitsForEver) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    Traffic traffic(seed);
    for (int step = 0; step < 60; ++step) traffic.Step();
    traffic.Drain();
  }
}

TEST(LedgerPropertyTest, JobsOfSixtyPercentTakeTurnsInTheirOrder) {
  std::vector<LedgerEntry> entries;
  for (int64_t number = 1; number <= 10; ++number) entries.push_back(Waits(number, 14400));
  while (!entries.empty()) {
    std::vector<int64_t> may;
    const Ledger ledger(kMachine, entries);
    for (const LedgerEntry& entry : entries) {
      if (ledger.MayBeAdmitted(entry)) may.push_back(entry.number);
    }
    ASSERT_THAT(may, ElementsAre(entries.front().number));
    entries.front().place = Place::kAdmitted;
    const Ledger held(kMachine, entries);
    for (const LedgerEntry& entry : entries) EXPECT_FALSE(!entry.admitted() && held.MayBeAdmitted(entry));
    entries.erase(entries.begin());
  }
}

// ---- ledger turn

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

// ---- ledger belief

const Machine kSmallMachine = {.memory_mb = 1000, .gpus = {0, 1}};

Sighting Seen(const std::string& job, uint64_t file = 1) {
  return {.name = job + ".waiting", .entry = {.number = 1, .job = {job}, .user = 7}, .says_job = job, .file = file};
}

std::string WhyNot(const Sighting& sighting, const Machine& detected = kSmallMachine) {
  const Belief belief = Judge({sighting}, kSmallMachine, detected);
  EXPECT_EQ(belief.entries.size() + belief.doubts.size(), 1u);
  return belief.doubts.empty() ? "" : belief.doubts[0].why;
}

TEST(LedgerBeliefTest, WhatAKeeperCanHaveMadeIsBelieved) {
  EXPECT_EQ(WhyNot(Seen("a")), "");
  Sighting old = Seen("a");
  old.says_job.clear();
  EXPECT_EQ(WhyNot(old), "");
  old.witness = Witness::kCannotTell;
  EXPECT_EQ(WhyNot(old), "");
}

TEST(LedgerBeliefTest, AnEntryWithoutAProcessOfItsUserIsNot) {
  Sighting fake = Seen("a");
  fake.witness = Witness::kNone;
  const Belief belief = Judge({fake}, kSmallMachine, kSmallMachine);
  EXPECT_THAT(belief.entries, IsEmpty());
  EXPECT_EQ(belief.doubts, (std::vector<Doubt>{{"a.waiting", 7, "no process of its user runs this job"}}));
}

TEST(LedgerBeliefTest, ANumberBeyondAllLedgersIsNot) {
  Sighting fake = Seen("a");
  fake.entry.number = kMostNumber;
  EXPECT_EQ(WhyNot(fake), "");
  fake.entry.number = kMostNumber + 1;
  EXPECT_THAT(WhyNot(fake), HasSubstr("no ledger has come to number"));
}

TEST(LedgerBeliefTest, WhoHoldsMoreThanTheMachineHasIsNot) {
  Sighting fake = Seen("a");
  fake.entry.ask.memory_mb = 1001;
  EXPECT_EQ(WhyNot(fake), "") << "it only waits: it can never fit, and holds nobody up";
  fake.entry.place = Place::kAdmitted;
  EXPECT_EQ(WhyNot(fake), "it says that it holds 1001 MB of memory, this machine has 1000");
  EXPECT_EQ(WhyNot(fake, {.memory_mb = 2000}), "") << "it was admitted before machine.json said less";
}

TEST(LedgerBeliefTest, WhoHoldsMoreGpusThanHeAskedForIsNot) {
  Sighting fake = Seen("a");
  fake.entry.place = Place::kAdmitted;
  fake.entry.ask.gpus = 1;
  fake.entry.gpus = {0, 1};
  EXPECT_EQ(WhyNot(fake), "it holds 2 GPUs and asks for 1");
}

TEST(LedgerBeliefTest, WhatOthersMayWriteToOrAnotherJobsContentIsNot) {
  Sighting fake = Seen("a");
  fake.writable_by_others = true;
  EXPECT_EQ(WhyNot(fake), "others than its owner may write to it");
  fake = Seen("a");
  fake.says_job = "b";
  EXPECT_EQ(WhyNot(fake), "its name and its content speak of two jobs");
}

TEST(LedgerBeliefTest, OfTwoNamesOfOneFileTheOneThatHoldsMostCounts) {
  Sighting waits = Seen("a", 5), runs = Seen("a", 5), other = Seen("b", 6);
  runs.name = "a.running";
  runs.entry.place = Place::kAdmitted;
  const Belief belief = Judge({waits, other, runs}, kSmallMachine, kSmallMachine);
  ASSERT_THAT(belief.entries, SizeIs(2));
  EXPECT_TRUE(belief.entries[0].admitted());
  EXPECT_EQ(belief.doubts, (std::vector<Doubt>{{"a.waiting", 7, "it is the same file as a.running"}}));
}

TEST(LedgerBeliefTest, ANameThatSaysMoreThanTheContentOfAFileWithTwoNamesIsNot) {
  Sighting waits = Seen("a", 5), fake = Seen("a", 5);
  fake.entry.place = Place::kAdmitted;
  waits.says_it_waits = fake.says_it_waits = true;
  const Belief belief = Judge({waits, fake}, kSmallMachine, kSmallMachine);
  ASSERT_THAT(belief.entries, SizeIs(1));
  EXPECT_FALSE(belief.entries[0].admitted());
  EXPECT_EQ(belief.doubts[0].why, "its file has another name, and was never admitted");
}

}  // namespace
}  // namespace tony
