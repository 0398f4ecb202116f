#include "runtime/ledger/ledger_report.h"

#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/ledger/ledger_lock.h"
#include "runtime/os/users.h"

namespace tony {
namespace {

constexpr size_t kMostNamed = 3;  // of each kind
constexpr Duration kBesidesAge{10'000};
constexpr size_t kMostKept = 200;

std::string Holding(const LedgerEntry& entry) {
  const std::string gpus =
      entry.ask.gpus == 0 ? "" : StrCat(" and ", entry.ask.gpus, entry.ask.gpus == 1 ? " GPU" : " GPUs");
  const std::string process = entry.keeper.pid == 0 ? "" : StrCat(" (process ", entry.keeper.pid, ")");
  return StrCat(UserName(entry.user), " holds ", entry.ask.memory_mb, " MB", gpus, " with ", entry.job.value, process);
}

}  // namespace

std::string WhoHolds(const Ledger& ledger, const JobId& job) {
  std::vector<LedgerEntry> holders;
  for (const LedgerEntry& entry : ledger.entries()) {
    if (entry.admitted() && entry.job != job) holders.push_back(entry);
  }
  std::ranges::stable_sort(holders, std::ranges::greater(), [](const LedgerEntry& e) { return e.ask.memory_mb; });
  std::vector<std::string> texts;
  for (const LedgerEntry& entry : holders) {
    if (texts.size() < kMostNamed) texts.push_back(Holding(entry));
  }
  return Join(texts, ", ");
}

std::string TextBesides(const LedgerView& view, const std::vector<LedgerEntry>& passed, const JobId& job) {
  std::string text = WhoHolds(view.ledger, job);
  if (!text.empty()) text.insert(0, "; ");
  for (size_t i = 0; i < std::min(passed.size(), kMostNamed); ++i)
    text += StrCat("; ", UserName(passed[i].user), "'s job ", passed[i].job.value, " does not take its turn");
  for (size_t i = 0; i < std::min(view.doubts.size(), kMostNamed); ++i) {
    const Doubt& doubt = view.doubts[i];
    text += StrCat("; ", doubt.name, " of ", UserName(doubt.user), " is not believed: ", doubt.why);
  }
  if (view.doubts.size() > kMostNamed)
    text += StrCat("; ", view.doubts.size() - kMostNamed, " more entries are not believed, see tony list --queue");
  return text;
}

std::string TextOfLock(const std::vector<int64_t>& lock_holders) {
  return StrCat("; the ledger's lock is held by ", DescribeHolders(lock_holders), ", and is gone around");
}

std::string LockWarning(const LedgerView& view) {
  if (!view.went_without_lock) return "";
  return StrCat("the ledger's lock is held by ", DescribeHolders(view.lock_holders),
                "; nobody needs it for more than a millisecond, jobs go around it");
}

bool LedgerNews::IsNew(const std::string& why, const std::string& besides, Instant now) {
  if (why == why_ && (besides == besides_ || now - told_ < kBesidesAge)) return false;
  why_ = why;
  besides_ = besides;
  told_ = now;
  return true;
}

bool LedgerNews::IsNew(const std::string& warning) {
  return warnings_.size() < kMostKept && warnings_.insert(warning).second;
}

}  // namespace tony
