#include "runtime/ledger/ledger_turn.h"

#include <algorithm>

#include "runtime/base/strings.h"

namespace tony {
namespace {

bool IsSame(const LedgerEntry& a, const LedgerEntry& b) { return a.user == b.user && a.job == b.job; }

// Of the user of `mine`, without it.
std::vector<LedgerEntry> OthersOfItsUser(const Ledger& ledger, const LedgerEntry& mine, Place place) {
  std::vector<LedgerEntry> others;
  for (const LedgerEntry& entry : ledger.entries()) {
    if (entry.user == mine.user && entry.job != mine.job && entry.place == place) others.push_back(entry);
  }
  return others;
}

// The entry that stands in line where `earlier` stood: itself, or the job to which its user gave its place.
const LedgerEntry* InItsPlace(const Ledger& ledger, const LedgerEntry& earlier) {
  const LedgerEntry* now = ledger.Find(earlier.job, earlier.user);
  if (!now || now->admitted()) return nullptr;
  if (now->place == Place::kInLine) return now->number == earlier.number ? now : nullptr;
  const auto given = std::ranges::find_if(ledger.entries(), [&](const LedgerEntry& entry) {
    return entry.user == earlier.user && entry.number == earlier.number && entry.place == Place::kInLine;
  });
  return given == ledger.entries().end() ? nullptr : &*given;
}

TurnStep Waits(std::string why, std::vector<LedgerEntry> waits_for) {
  return {.kind = TurnStep::Kind::kWait, .why = std::move(why), .waits_for = std::move(waits_for)};
}

}  // namespace

TurnStep LedgerTurn::NextAside(const Ledger& ledger, const LedgerEntry& mine) {
  if (!EverFits(mine.ask, ledger.machine(), mine.user)) return Waits(ledger.WhyItWaits(mine, 0), {});
  std::optional<LedgerEntry> next;  // the last of those that go before it: what happens before that one wakes nobody
  for (const LedgerEntry& other : OthersOfItsUser(ledger, mine, Place::kAside)) {
    if (!GoesBefore(other, mine) || !EverFits(other.ask, ledger.machine(), other.user)) continue;
    if (!next || GoesBefore(*next, other)) next = other;
  }
  if (next) return Waits(StrCat("waits for its turn; its user's job ", next->job.value, " goes before it"), {*next});
  if (ledger.IsOverLimit(mine)) return Waits(ledger.WhyItWaits(mine, 0), {});
  TurnStep join{.kind = TurnStep::Kind::kJoin, .number = ledger.NextNumber()};
  for (const LedgerEntry& other : OthersOfItsUser(ledger, mine, Place::kInLine)) {
    if (!EverFits(other.ask, ledger.machine(), other.user)) continue;
    // A keeper that does not know of priorities keeps its place.
    if (other.priority >= mine.priority || other.keeper.pid == 0 || join.displaced)
      return Waits(StrCat("waits for its turn; its user's job ", other.job.value, " is in the line"), {other});
    join.displaced = other;
    join.number = other.number;
  }
  return join;
}

void LedgerTurn::LookAtEarlier(const Ledger& ledger, const LedgerEntry& mine, Instant now) {
  if (!earlier_) {
    earlier_.emplace();
    for (const LedgerEntry& entry : ledger.Before(mine)) {
      if (entry.user != mine.user) earlier_->push_back({.entry = entry});
    }
  }
  std::erase_if(*earlier_, [&](const Earlier& earlier) { return !InItsPlace(ledger, earlier.entry); });
  Duration patience = kTurnPatience;
  for (Earlier& earlier : *earlier_) {
    earlier.entry = *InItsPlace(ledger, earlier.entry);
    if (!ledger.CountsInLine(earlier.entry) || !ledger.IsFree(earlier.entry.ask)) {
      earlier.could_since.reset();
    } else if (!earlier.could_since) {
      earlier.could_since = now;
    }
    earlier.passed = earlier.passed || (earlier.could_since && now - *earlier.could_since >= patience);
    patience += kTurnPatienceMore;
  }
}

std::vector<LedgerEntry> LedgerTurn::Blocking(const Ledger& ledger, TurnStep& step) const {
  std::vector<LedgerEntry> blocking;
  Duration patience = kTurnPatience;
  for (const Earlier& earlier : *earlier_) {
    if (!earlier.passed && ledger.CountsInLine(earlier.entry)) {
      blocking.push_back(earlier.entry);
      const auto due = earlier.could_since ? std::optional(*earlier.could_since + patience) : std::nullopt;
      if (due && (!step.look_again || *due < *step.look_again)) step.look_again = due;
    }
    patience += kTurnPatienceMore;
  }
  return blocking;
}

TurnStep LedgerTurn::Next(const Ledger& ledger, const LedgerEntry& mine, Instant now) {
  if (mine.place == Place::kAside) {
    earlier_.reset();
    return NextAside(ledger, mine);
  }
  LookAtEarlier(ledger, mine, now);
  TurnStep step;
  std::vector<LedgerEntry> blocking = Blocking(ledger, step);
  for (const LedgerEntry& other : OthersOfItsUser(ledger, mine, Place::kInLine)) {
    if (GoesBefore(other, mine) && EverFits(other.ask, ledger.machine(), other.user)) {
      step.kind = TurnStep::Kind::kStepAside;
      return step;
    }
  }
  step.why = ledger.WhyItWaits(mine, blocking.size());
  if (EverFits(mine.ask, ledger.machine(), mine.user) && ledger.IsOverLimit(mine)) {
    step.kind = TurnStep::Kind::kStepAside;
  } else if (blocking.empty() && ledger.Fits(mine) && EverFits(mine.ask, ledger.machine(), mine.user)) {
    step.kind = TurnStep::Kind::kAdmit;
    step.gpus = ledger.GpusFor(mine);
  }
  step.waits_for = std::move(blocking);
  return step;
}

std::vector<LedgerEntry> LedgerTurn::Passed() const {
  std::vector<LedgerEntry> passed;
  if (!earlier_) return passed;
  for (const Earlier& earlier : *earlier_) {
    if (earlier.passed) passed.push_back(earlier.entry);
  }
  return passed;
}

bool HasRoomFor(const LedgerEntry& mine, const Ledger& ledger) {
  std::vector<LedgerEntry> entries = ledger.entries();
  const auto is_mine = [&](const LedgerEntry& entry) { return IsSame(entry, mine); };
  if (std::erase_if(entries, is_mine) == 0) return false;  // somebody removed it
  const Ledger others(ledger.machine(), std::move(entries));
  const std::vector<int> free = others.FreeGpus();
  return others.Fits(mine) &&
         std::ranges::all_of(mine.gpus, [&](int gpu) { return std::ranges::count(free, gpu) > 0; });
}

}  // namespace tony
