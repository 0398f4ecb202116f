#include "runtime/scheduler/local/ledger.h"

#include <algorithm>
#include <tuple>

#include "runtime/base/strings.h"

namespace tony {
namespace {

std::string Count(int64_t count, std::string_view what) { return StrCat(count, " ", what, count == 1 ? "" : "s"); }

bool IsBefore(const LedgerEntry& a, const LedgerEntry& b) {
  return std::tie(a.number, a.job) < std::tie(b.number, b.job);
}

// "4096 of 24000 MB are free", "1 of 4 is free".
std::string FreeOf(int64_t free, int64_t all, std::string_view unit) {
  return StrCat(free, " of ", all, unit, free == 1 && unit.empty() ? " is free" : " are free");
}

// "5 tasks: ps 1 x 2048 MB, worker 4 x 2048 MB"
std::string Sum(const JobSpec& spec, int64_t (*amount)(const RoleSpec&), std::string_view unit) {
  std::vector<std::string> roles;
  int64_t tasks = 0;
  for (const RoleSpec& role : spec.roles) {
    if (amount(role) == 0) continue;
    roles.push_back(StrCat(role.name, " ", role.instances, " x ", amount(role), unit));
    tasks += role.instances;
  }
  return StrCat(Count(tasks, "task"), ": ", Join(roles, ", "));
}

// The keys of the role that asks for most.
std::string KeysToSet(const JobSpec& spec, int64_t (*amount)(const RoleSpec&), std::string_view key) {
  const auto all = [&](const RoleSpec& role) { return role.instances * amount(role); };
  const RoleSpec& most = *std::ranges::max_element(spec.roles, {}, all);
  if (most.instances > 1) return StrCat("tony.", most.name, ".", key, " or tony.", most.name, ".instances");
  // A job without roles has one task of this name, whose keys are TonY's for the AM.
  if (spec.roles.size() == 1 && most.name == "driver") return StrCat("tony.am.", key);
  return StrCat("tony.", most.name, ".", key);
}

int64_t MemoryOf(const RoleSpec& role) { return role.resources.memory_mb; }
int64_t GpusOf(const RoleSpec& role) { return role.resources.gpus; }

}  // namespace

LedgerAsk AskOf(const JobSpec& spec) {
  LedgerAsk ask;
  for (const RoleSpec& role : spec.roles) {
    ask.memory_mb += role.instances * std::clamp<int64_t>(role.resources.memory_mb, 0, kMostAsked / 10'000);
    ask.vcores += int64_t{role.instances} * role.resources.vcores;
    ask.gpus += int64_t{role.instances} * role.resources.gpus;
  }
  return ask;
}

Ledger::Ledger(Machine machine, std::vector<LedgerEntry> entries)
    : machine_(std::move(machine)), entries_(std::move(entries)) {
  std::ranges::sort(entries_, IsBefore);
}

int64_t Ledger::NextNumber() const { return entries_.empty() ? 1 : entries_.back().number + 1; }

int64_t Ledger::FreeMemory() const {
  int64_t free = machine_.memory_mb;
  for (const LedgerEntry& entry : entries_) {
    if (entry.admitted) free -= entry.ask.memory_mb;
  }
  return std::max<int64_t>(free, 0);
}

std::vector<int> Ledger::FreeGpus() const {
  std::vector<int> free = machine_.gpus;
  for (const LedgerEntry& entry : entries_) {
    if (entry.admitted) std::erase_if(free, [&](int gpu) { return std::ranges::count(entry.gpus, gpu) > 0; });
  }
  return free;
}

bool Ledger::IsFree(const LedgerAsk& ask) const {
  return ask.memory_mb <= FreeMemory() && ask.gpus <= static_cast<int64_t>(FreeGpus().size());
}

size_t Ledger::WaitingBefore(const LedgerEntry& entry) const {
  return std::ranges::count_if(entries_, [&](const LedgerEntry& other) {
    return !other.admitted && IsBefore(other, entry) && EverFits(other.ask, machine_);
  });
}

bool Ledger::MayBeAdmitted(const LedgerEntry& entry) const { return WaitingBefore(entry) == 0 && IsFree(entry.ask); }

std::vector<int> Ledger::GpusFor(const LedgerEntry& entry) const {
  std::vector<int> gpus = FreeGpus();
  gpus.resize(std::min<size_t>(gpus.size(), std::max<int64_t>(entry.ask.gpus, 0)));
  return gpus;
}

std::string Ledger::WhyItWaits(const LedgerEntry& entry) const {
  const auto gpus = static_cast<int64_t>(machine_.gpus.size());
  const auto free_gpus = static_cast<int64_t>(FreeGpus().size());
  const LedgerAsk& ask = entry.ask;
  if (!EverFits(ask, machine_)) {
    return StrCat("asks for ", ask.memory_mb, " MB of memory and ", Count(ask.gpus, "GPU"), ", this machine has only ",
                  machine_.memory_mb, " MB and ", Count(gpus, "GPU"));
  }
  std::vector<std::string> lacks;
  if (ask.memory_mb > FreeMemory())
    lacks.push_back(StrCat(ask.memory_mb, " MB of memory: ", FreeOf(FreeMemory(), machine_.memory_mb, " MB")));
  if (ask.gpus > free_gpus) lacks.push_back(StrCat(Count(ask.gpus, "GPU"), ": ", FreeOf(free_gpus, gpus, "")));
  if (lacks.empty()) lacks.push_back("its turn");
  const auto before = static_cast<int64_t>(WaitingBefore(entry));
  const std::string queue =
      before == 0 ? "" : StrCat("; ", Count(before, "job"), before == 1 ? " is" : " are", " before it");
  return StrCat("waits for ", Join(lacks, " and "), queue);
}

bool EverFits(const LedgerAsk& ask, const Machine& machine) {
  return ask.memory_mb <= machine.memory_mb && ask.gpus <= static_cast<int64_t>(machine.gpus.size());
}

Status CheckEverFits(const JobSpec& spec, const Machine& machine) {
  const LedgerAsk ask = AskOf(spec);
  const auto gpus = static_cast<int64_t>(machine.gpus.size());
  if (ask.memory_mb > machine.memory_mb) {
    return Error{ErrorCode::kInvalid,
                 StrCat("the job asks for ", ask.memory_mb, " MB of memory (", Sum(spec, MemoryOf, " MB"),
                        "), this machine has ", machine.memory_mb, " MB; set ", KeysToSet(spec, MemoryOf, "memory"))};
  }
  if (ask.gpus > gpus) {
    return Error{ErrorCode::kInvalid, StrCat("the job asks for ", Count(ask.gpus, "GPU"), " (", Sum(spec, GpusOf, ""),
                                             "), this machine has ", gpus == 0 ? "none" : StrCat(gpus), "; set ",
                                             KeysToSet(spec, GpusOf, "gpus"))};
  }
  return Ok();
}

}  // namespace tony
