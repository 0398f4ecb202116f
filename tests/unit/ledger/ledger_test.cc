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

}  // namespace
}  // namespace tony
