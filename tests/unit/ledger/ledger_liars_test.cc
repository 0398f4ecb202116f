// The ledger among liars, by seeds: honest keepers, each with a memory of its own, look and act in any order, two at
// once as well, while liars put any entry anywhere between any two of their looks.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "runtime/ledger/ledger.h"
#include "tests/support/rounds.h"

namespace tony {
namespace {

constexpr int64_t kMemory = 1000, kHonestUsers = 3, kFirstLiar = 11, kLiars = 4, kLiarMay = 100;

struct Honest {
  LedgerEntry entry;
  LedgerTurn turn;
  bool confirmed = false;     // admitted, and has seen that it stands
  std::optional<Ledger> saw;  // and has not acted on yet
};

class Town {
 public:
  explicit Town(unsigned seed) : random_(seed) {
    machine_ = {.memory_mb = kMemory, .gpus = {0, 1, 4, 7}, .user_limits = {.memory_mb = kLiarMay, .gpus = 0}};
    for (int64_t user = 1; user <= kHonestUsers; ++user) machine_.users[user] = {.memory_mb = kMemory, .gpus = 4};
  }

  void Step() {
    now_ += Duration(Below(1000));
    Lie();
    switch (Below(8)) {
      case 0:
        return Arrive();
      case 1:
        return Leave();
      default:
        LookAndAct();
    }
  }
  // Nobody comes any more; the liars go on, and some of their lies stay.
  bool AllHaveTheirTurn() {
    for (int64_t user = kFirstLiar; user < kFirstLiar + kLiars; ++user) {
      const LedgerEntry holds{.number = 1, .user = user, .ask = {.memory_mb = kMemory}, .place = Place::kAdmitted};
      for (const Witness witness : {Witness::kRuns, Witness::kNone}) {
        lies_.push_back({.entry = holds, .file = 2'000'000 + lies_.size(), .witness = witness});
        std::swap(lies_.back(), lies_[stays_++]);
      }
    }
    for (int step = 0; step < 20'000 && !honest_.empty(); ++step) {
      now_ += Duration(Below(1000));
      Lie();
      if (Below(4) == 0) JumpTheQueue();
      LookAndAct();
      if (Below(4) == 0) Leave();
      ExpectNotOvercommitted();
    }
    return honest_.empty();
  }
  void ExpectNotOvercommitted() const {
    int64_t memory = 0;
    std::vector<int> gpus;
    for (const Honest& job : honest_) {
      if (!job.confirmed) continue;
      memory += job.entry.ask.memory_mb;
      gpus.insert(gpus.end(), job.entry.gpus.begin(), job.entry.gpus.end());
    }
    EXPECT_LE(memory, kMemory);
    EXPECT_EQ(std::set<int>(gpus.begin(), gpus.end()).size(), gpus.size());
  }

 private:
  int64_t Below(int64_t end) { return std::uniform_int_distribution<int64_t>(0, end - 1)(random_); }

  Ledger Seen() const {
    std::vector<Sighting> sightings = lies_;
    for (const Honest& job : honest_)
      sightings.push_back({.name = job.entry.job.value, .entry = job.entry, .file = FileOf(job.entry)});
    return Ledger(machine_, Judge(std::move(sightings), machine_, machine_).entries);
  }
  static uint64_t FileOf(const LedgerEntry& entry) { return std::hash<std::string>()(entry.job.value); }

  void Arrive() {
    // Beside all that the liars can hold there is room for every one of them.
    LedgerEntry entry{.number = Seen().NextNumber(),
                      .job = {"honest-" + std::to_string(++jobs_)},
                      .user = 1 + Below(kHonestUsers),
                      .ask = {.memory_mb = Below(kMemory - kLiars * kLiarMay + 1), .gpus = Below(5)},
                      .place = Place::kAside,
                      .priority = Below(3),
                      .keeper = {.pid = 1}};
    honest_.push_back({.entry = entry});
  }
  void Leave() {
    for (size_t i = 0; i < honest_.size(); ++i) {
      if (!honest_[i].confirmed) continue;
      honest_.erase(honest_.begin() + static_cast<int64_t>(i));
      return;
    }
  }

  void LookAndAct() {
    if (honest_.empty()) return;
    Honest& job = honest_[static_cast<size_t>(Below(static_cast<int64_t>(honest_.size())))];
    const Ledger seen = Seen();
    if (job.entry.admitted()) {
      // Between this and the look that led to it others may have done the same.
      if (!job.confirmed && !(job.confirmed = HasRoomFor(job.entry, seen))) job.entry.place = Place::kInLine;
      return;
    }
    // What it acts on may be past already.
    if (!job.saw && Below(2) == 0) {
      job.saw = seen;
      return;
    }
    const Ledger saw = job.saw ? *std::exchange(job.saw, std::nullopt) : seen;
    if (!saw.Find(job.entry.job, job.entry.user)) return;
    const TurnStep step = job.turn.Next(saw, job.entry, now_);
    switch (step.kind) {
      case TurnStep::Kind::kWait:
        return;
      case TurnStep::Kind::kStepAside:
        job.entry.place = Place::kAside;
        return;
      case TurnStep::Kind::kAdmit:
        job.entry.gpus = step.gpus;
        job.entry.place = Place::kAdmitted;
        return;
      case TurnStep::Kind::kJoin:
        if (step.displaced && !Displace(*step.displaced)) return;
        job.entry.number = step.number;
        job.entry.place = Place::kInLine;
    }
  }
  bool Displace(const LedgerEntry& displaced) {
    for (Honest& other : honest_) {
      if (other.entry.job != displaced.job || other.entry.place != Place::kInLine) continue;
      other.entry.place = Place::kAside;
      return true;
    }
    return false;
  }

  // A new job in front of all, of somebody who can be believed, that takes as much as he may have.
  void JumpTheQueue() {
    std::erase_if(lies_, [](const Sighting& lie) { return lie.entry.job.value.starts_with("jump-"); });
    for (int64_t user = kFirstLiar; user < kFirstLiar + kLiars; ++user) {
      Sighting lie{.file = 3'000'000 + static_cast<uint64_t>(++lies_told_)};
      lie.entry = {
          .job = {"jump-" + std::to_string(lies_told_)}, .user = user + kLiars, .ask = {.memory_mb = kLiarMay}};
      lies_.push_back(lie);
    }
  }

  // Anything that can be in a file, behind which there may be a process that plays a keeper well.
  void Lie() {
    if (lies_.size() > stays_ && (lies_.size() > 30 || Below(3) == 0)) {
      const auto first = lies_.begin() + static_cast<int64_t>(stays_);
      lies_.erase(first + Below(lies_.end() - first));
      return;
    }
    static constexpr int64_t kNumbers[] = {0, 1, 7, kMostNumber - 1, kMostNumber, kMostNumber + 1, 999'999'999'999'999};
    Sighting lie;
    lie.file = 1'000'000 + static_cast<uint64_t>(++lies_told_);
    lie.witness = Below(2) == 0 ? Witness::kNone : Witness::kRuns;
    lie.entry.number = Below(2) == 0 ? kNumbers[Below(std::size(kNumbers))] : Below(2 * jobs_ + 2);
    lie.entry.job = {Below(2) == 0 ? "honest-" + std::to_string(Below(jobs_ + 1))
                                   : "lie-" + std::to_string(lies_told_)};
    lie.entry.user = kFirstLiar + Below(kLiars);
    lie.entry.place = static_cast<Place>(Below(3));
    lie.entry.ask = {.memory_mb = Below(4) == 0 ? Below(kMostAsked) : Below(2 * kMemory), .gpus = Below(5)};
    for (int64_t gpu = 0; gpu < lie.entry.ask.gpus; ++gpu) lie.entry.gpus.push_back(static_cast<int>(Below(9)));
    lie.entry.priority = Below(2001) - 1000;
    lie.entry.keeper.pid = Below(2);
    lies_.push_back(lie);
  }

  Machine machine_;
  std::mt19937 random_;
  Instant now_ = FromMillis(1'700'000'000'000);
  std::vector<Honest> honest_;
  std::vector<Sighting> lies_;
  size_t stays_ = 0;  // so many of the lies, the first
  int64_t jobs_ = 0, lies_told_ = 0;
};

TEST(LedgerLiarsTest, WhateverTheyDoHonestJobsGetNothingTwiceAndAllHaveTheirTurn) {
  for (int seed = 0; seed < Rounds(20); ++seed) {
    SCOPED_TRACE(seed);
    Town town(static_cast<unsigned>(seed));
    for (int step = 0; step < 200; ++step) {
      town.Step();
      town.ExpectNotOvercommitted();
    }
    ASSERT_TRUE(town.AllHaveTheirTurn());
  }
}

}  // namespace
}  // namespace tony
