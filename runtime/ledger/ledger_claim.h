// A job's place in the machine's ledger, as its keeper holds it. The entry lives as long as the lock on it: the
// keeper's descriptor, or a copy of it in an executor. Nobody has to clean up after kill -9.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/job/ids.h"
#include "runtime/ledger/ledger.h"
#include "runtime/ledger/ledger_folder.h"

namespace tony {

// Loop thread only.
class LedgerClaim {
 public:
  struct Listener {
    std::function<void()> on_admitted;                   // once; never from inside Enter()
    std::function<void(const std::string&)> on_waiting;  // why, for people; told again when that changes
  };
  // Queues the job at the end, or takes over the entry that an earlier keeper of the job left. `runs`: containers of
  // the job live, so it has what it asks for, whatever the ledger says; it is admitted at once. `priority`: among the
  // jobs of its user that wait.
  static Result<std::unique_ptr<LedgerClaim>> Enter(EventLoop& loop, const LedgerFolder& folder, const JobId& job,
                                                    const LedgerAsk& ask, bool runs, Listener listener,
                                                    int64_t priority = 0);
  virtual ~LedgerClaim() = default;

  virtual bool admitted() const = 0;
  virtual const std::vector<int>& gpus() const = 0;  // the job's, by their number on the machine; since it was admitted
  virtual bool MachineHasGpus() const = 0;           // any, whosever they are; since it was admitted
  virtual Instant admitted_at() const = 0;           // by any keeper of the job; the epoch: not known
  virtual int lock() const = 0;                      // the descriptor that executors inherit
  virtual void Leave() = 0;                          // what the job had is free; wakes those who wait
};

// What people are told of the ledger: who holds what, and who stands in the way.

// Who holds most besides `job`: "alice holds 600 MB with local-... (process 12)"; empty: nobody.
std::string WhoHolds(const Ledger& ledger, const JobId& job);

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
