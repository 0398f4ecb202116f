// The reservation of a job in the ledger of the machine, held by the keeper (supervisor) of the job. The entry lives as
// long as a process holds the lock on its file: through the descriptor of the keeper, or through a copy in an executor.
// Therefore kill -9 leaves nothing to clean up.
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

// A reservation is used on the loop thread only.
class LedgerReservation {
 public:
  struct Listener {
    std::function<void()> on_admitted;  // called once, never inside Enter()
    // Called with the pending reason for people, and again when the reason changes.
    std::function<void(const std::string&)> on_waiting;
  };
  // Queues the job at the end, or adopts the entry that an earlier keeper of the job left. `runs` means that
  // containers of the job live. Such a job is admitted at once, whatever the ledger contains, because the job already
  // uses the requested resources. `priority` orders the waiting jobs of one user.
  static Result<std::unique_ptr<LedgerReservation>> Enter(EventLoop& loop, const LedgerFolder& folder, const JobId& job,
                                                          const LedgerRequest& ask, bool runs, Listener listener,
                                                          int64_t priority = 0);
  virtual ~LedgerReservation() = default;

  virtual bool admitted() const = 0;
  // The GPU numbers of the job on this machine; valid once the job is admitted.
  virtual const std::vector<int>& gpus() const = 0;
  // True if jobs may use GPUs of this machine, free or not; valid once the job is admitted.
  virtual bool MachineHasGpus() const = 0;
  // Returns the names that tasks find instead of GPU numbers, by number; empty: tasks find numbers.
  virtual const std::map<int, std::string>& ShownGpuNames() const = 0;
  // The time of the admission, which an earlier keeper of the job may have recorded; Instant(): unknown.
  virtual Instant admitted_at() const = 0;
  virtual int lock() const = 0;  // the descriptor that executors inherit
  // Frees the resources that the job holds, and wakes the waiting jobs.
  virtual void Leave() = 0;
};

// Texts about the ledger for people: which jobs hold what, and which process holds the lock.

// Returns a text that names the jobs with the most memory except `job`, at most three, e.g. "alice holds 600 MB with
// local-... (process 12)". The result is empty if no other job is admitted.
std::string WhoHolds(const Ledger& ledger, const JobId& job);

// Returns a warning for the output of a command. The warning names the process that holds the ledger's lock, and is
// empty if the command got the lock.
std::string LockWarning(const LedgerView& view);

// Decides which texts of a waiting job count as new, because each new text becomes a line in a log. A text that other
// users can change at will counts as new at most once in ten seconds. At most 200 different warnings count as new.
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
