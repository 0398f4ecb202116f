// What people are told of the ledger: who holds what, and who stands in the way.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "runtime/ledger/ledger_folder.h"

namespace tony {

// Who holds most besides `job`: "alice holds 600 MB with local-... (process 12)"; empty: nobody.
std::string WhoHolds(const Ledger& ledger, const JobId& job);

// Behind why `job` waits: who holds what, who does not take his turn, and which entries are not believed. Each begins
// with "; "; empty: nothing of it.
std::string TextBesides(const LedgerView& view, const std::vector<LedgerEntry>& passed, const JobId& job);
std::string TextOfLock(const std::vector<int64_t>& lock_holders);

// For commands: that somebody keeps the ledger's lock, and who; empty: nobody does.
std::string LockWarning(const LedgerView& view);

// What a waiting job has told already. What strangers can change as they like is told now and then, and so many
// warnings at most: each is a line in a log.
class LedgerNews {
 public:
  bool IsNew(const std::string& why, const std::string& besides, Instant now);
  bool IsNew(const std::string& warning);

 private:
  std::string why_, besides_;
  Instant told_{};
  std::set<std::string> warnings_;
};

}  // namespace tony
