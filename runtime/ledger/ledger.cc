#include "runtime/ledger/ledger.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "runtime/base/strings.h"

namespace tony {
namespace {

// "4096 of 24000 MB are free", "1 of 4 is free".
std::string FreeOf(int64_t free, int64_t all, std::string_view unit) {
  return StrCat(free, " of ", all, unit, free == 1 && unit.empty() ? " is free" : " are free");
}

}  // namespace

UserLimits Machine::LimitsOf(int64_t user) const {
  UserLimits limits = user_limits;
  const auto own = users.find(user);
  if (own == users.end()) return limits;
  if (own->second.memory_mb) limits.memory_mb = own->second.memory_mb;
  if (own->second.gpus) limits.gpus = own->second.gpus;
  if (own->second.run_minutes) limits.run_minutes = own->second.run_minutes;
  return limits;
}

bool IsBefore(const LedgerEntry& a, const LedgerEntry& b) {
  return std::tie(a.number, a.job, a.user) < std::tie(b.number, b.job, b.user);
}

bool GoesBefore(const LedgerEntry& a, const LedgerEntry& b) {
  return a.priority != b.priority ? a.priority > b.priority : IsBefore(a, b);
}

Ledger::Ledger(Machine machine, std::vector<LedgerEntry> entries)
    : machine_(std::move(machine)), entries_(std::move(entries)) {
  std::ranges::sort(entries_, IsBefore);
}

int64_t Ledger::NextNumber() const { return entries_.empty() ? 1 : std::min(entries_.back().number + 1, kMostNumber); }

const LedgerEntry* Ledger::Find(const JobId& job, int64_t user) const {
  const auto found =
      std::ranges::find_if(entries_, [&](const LedgerEntry& entry) { return entry.job == job && entry.user == user; });
  return found == entries_.end() ? nullptr : &*found;
}

LedgerAsk Ledger::HeldBy(int64_t user) const {
  LedgerAsk held;
  for (const LedgerEntry& entry : entries_) {
    if (!entry.admitted() || entry.user != user) continue;
    held.memory_mb += entry.ask.memory_mb;
    held.vcores += entry.ask.vcores;
    held.gpus += entry.ask.gpus;
  }
  return held;
}

int64_t Ledger::FreeMemory() const {
  std::map<int64_t, int64_t> held;
  for (const LedgerEntry& entry : entries_) {
    if (entry.admitted()) held[entry.user] += entry.ask.memory_mb;
  }
  int64_t free = machine_.memory_mb;
  for (const auto& [user, memory] : held)
    free -= std::min({memory, machine_.memory_mb, machine_.LimitsOf(user).memory_mb.value_or(memory)});
  return std::max<int64_t>(free, 0);
}

std::vector<int> Ledger::FreeGpus() const {
  std::vector<int> free = machine_.gpus;
  std::map<int64_t, int64_t> counted;
  for (const LedgerEntry& entry : entries_) {
    if (!entry.admitted()) continue;
    const auto most = machine_.LimitsOf(entry.user).gpus;
    for (const int gpu : entry.gpus) {
      if (!most || counted[entry.user] < *most) counted[entry.user] += static_cast<int64_t>(std::erase(free, gpu));
    }
  }
  return free;
}

std::vector<int> Ledger::FreeGpus(const LedgerAsk& ask) const { return AllowedGpus(FreeGpus(), ask); }

bool Ledger::IsFree(const LedgerAsk& ask) const {
  return ask.memory_mb <= FreeMemory() && ask.gpus <= static_cast<int64_t>(FreeGpus(ask).size());
}

bool Ledger::IsOverLimit(const LedgerEntry& entry) const {
  const UserLimits limits = machine_.LimitsOf(entry.user);
  if (!limits.memory_mb && !limits.gpus) return false;
  const LedgerAsk held = HeldBy(entry.user);
  return (limits.memory_mb && held.memory_mb + entry.ask.memory_mb > *limits.memory_mb) ||
         (limits.gpus && held.gpus + entry.ask.gpus > *limits.gpus);
}

bool Ledger::CountsInLine(const LedgerEntry& entry) const {
  return entry.place == Place::kInLine && EverFits(entry.ask, machine_, entry.user) && !IsOverLimit(entry);
}

std::vector<LedgerEntry> Ledger::Before(const LedgerEntry& entry) const {
  std::vector<LedgerEntry> before;
  std::set<int64_t> seen;  // users of whom the first one has been met
  for (const LedgerEntry& other : entries_) {
    if (!CountsInLine(other)) continue;
    if (other.user == entry.user) {
      if (other.job != entry.job && GoesBefore(other, entry)) before.push_back(other);
    } else if (IsBefore(other, entry) && seen.insert(other.user).second) {
      before.push_back(other);
    }
  }
  return before;
}

std::vector<int> Ledger::GpusFor(const LedgerEntry& entry) const {
  std::vector<int> gpus = FreeGpus(entry.ask);
  gpus.resize(std::min<size_t>(gpus.size(), std::max<int64_t>(entry.ask.gpus, 0)));
  return gpus;
}

std::string Ledger::WhyItWaits(const LedgerEntry& entry) const { return WhyItWaits(entry, Before(entry).size()); }

std::string Ledger::WhyOverLimit(const LedgerEntry& entry) const {
  const UserLimits limits = machine_.LimitsOf(entry.user);
  const LedgerAsk held = HeldBy(entry.user);
  if (limits.memory_mb && held.memory_mb + entry.ask.memory_mb > *limits.memory_mb)
    return StrCat("waits for ", entry.ask.memory_mb, " MB of memory: its user may have ", *limits.memory_mb,
                  " MB at a time, by machine.json, and has ", held.memory_mb);
  return StrCat("waits for ", Counted(entry.ask.gpus, "GPU"), ": its user may have ", limits.gpus.value_or(0),
                " at a time, by machine.json, and has ", held.gpus);
}

std::string Ledger::WhyItWaits(const LedgerEntry& entry, size_t others) const {
  const LedgerAsk& ask = entry.ask;
  const auto gpus = static_cast<int64_t>(AllowedGpus(machine_.gpus, ask).size());
  const auto free_gpus = static_cast<int64_t>(FreeGpus(ask).size());
  const std::string among = ask.gpus_among.empty() ? "" : StrCat(" of ", GpuPin(ask));
  if (!EverFits(ask, machine_, entry.user)) {
    const UserLimits limits = machine_.LimitsOf(entry.user);
    const int64_t memory = std::min(machine_.memory_mb, limits.memory_mb.value_or(machine_.memory_mb));
    return StrCat("asks for ", ask.memory_mb, " MB of memory and ", Counted(ask.gpus, "GPU"),
                  ", this machine has only ", memory, " MB and ",
                  Counted(std::min(gpus, limits.gpus.value_or(gpus)), "GPU"),
                  limits == UserLimits() ? "" : " for its user");
  }
  if (IsOverLimit(entry)) return WhyOverLimit(entry);
  std::vector<std::string> lacks;
  if (ask.memory_mb > FreeMemory())
    lacks.push_back(StrCat(ask.memory_mb, " MB of memory: ", FreeOf(FreeMemory(), machine_.memory_mb, " MB")));
  if (ask.gpus > free_gpus) lacks.push_back(StrCat(Counted(ask.gpus, "GPU"), among, ": ", FreeOf(free_gpus, gpus, "")));
  if (lacks.empty()) lacks.push_back("its turn");
  const auto before = static_cast<int64_t>(others);
  const std::string queue =
      before == 0 ? "" : StrCat("; ", Counted(before, "job"), before == 1 ? " is" : " are", " before it");
  return StrCat("waits for ", Join(lacks, " and "), queue);
}

}  // namespace tony
