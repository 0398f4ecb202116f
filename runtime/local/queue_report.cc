#include "runtime/local/queue_report.h"

#include <algorithm>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/ledger/ledger_folder.h"
#include "runtime/ledger/ledger_claim.h"
#include "runtime/ledger/ledger_witness.h"
#include "runtime/os/users.h"

namespace tony {
namespace {

std::string Why(const Ledger& ledger, const LedgerEntry& entry) {
  if (entry.admitted()) return "";
  std::string why = ledger.WhyItWaits(entry);
  if (entry.place != Place::kAside || ledger.IsOverLimit(entry)) return why;
  return StrCat("stands aside, behind its user's other jobs; ", why);
}

QueuedJob JobOf(const Ledger& ledger, const LedgerEntry& entry) {
  return {.job = entry.job,
          .user = UserName(entry.user),
          .process = entry.keeper.pid,
          .runs = entry.admitted(),
          .priority = entry.priority,
          .memory_mb = entry.ask.memory_mb,
          .vcores = entry.ask.vcores,
          .gpus = entry.ask.gpus,
          .held_gpus = entry.admitted() ? entry.gpus : std::vector<int>(),
          .since = entry.since,
          .why = Why(ledger, entry)};
}

// The ledger's order, those who stand aside last.
std::vector<LedgerEntry> InOrder(const Ledger& ledger) {
  std::vector<LedgerEntry> entries = ledger.entries();
  std::stable_partition(entries.begin(), entries.end(),
                        [](const LedgerEntry& entry) { return entry.place != Place::kAside; });
  return entries;
}

QueueBlocker BlockerOf(int64_t pid) {
  const auto process = LookAtProcess(pid);
  return {pid, process ? UserName(process->user) : "", process ? process->name : ""};
}

}  // namespace

Result<QueueView> LookAtQueue() {
  TRY_ASSIGN(const LedgerFolder folder, LedgerFolder::FindHere());
  TRY_ASSIGN(LedgerView ledger, folder.Read());
  const Machine& machine = ledger.ledger.machine();
  QueueView view{.place = folder.path().string(),
                 .is_private = folder.is_private(),
                 .memory_mb = machine.memory_mb,
                 .free_memory_mb = ledger.ledger.FreeMemory(),
                 .cores = machine.cores,
                 .gpus = machine.gpus,
                 .free_gpus = ledger.ledger.FreeGpus(),
                 .dead = ledger.dead};
  for (const LedgerEntry& entry : InOrder(ledger.ledger)) view.jobs.push_back(JobOf(ledger.ledger, entry));
  for (const Doubt& doubt : ledger.doubts) view.doubted.push_back({doubt.name, UserName(doubt.user), doubt.why});
  for (const int64_t pid : ledger.lock_holders) view.blockers.push_back(BlockerOf(pid));
  view.warnings = ledger.warnings;
  if (std::string lock = LockWarning(ledger); !lock.empty()) view.warnings.push_back(std::move(lock));
  return view;
}

}  // namespace tony
