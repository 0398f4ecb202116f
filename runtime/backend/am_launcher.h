// Starts the application master of a job, or brings it back. Seam: LocalAmLauncher.
#pragma once

#include <string>

#include "runtime/backend/arbiter.h"
#include "runtime/base/result.h"
#include "runtime/records/job_records.h"

namespace tony {

class AmLauncher : public Arbiter {
 public:
  // Returns once the keeper is started (not: once the AM answers). False: nothing was started, because one lives or
  // begins, or nothing is left to keep. Until it can be seen to rule, which may take long on a busy machine, Look()
  // answers kStarting, whoever asks.
  virtual Result<bool> Start(const JobRecords& records) = 0;

  // The result of a look at an arbiter that may hang.
  struct Pulse {
    bool silent = false;    // it is there and does not answer
    bool hopeless = false;  // nor can it be ended
    std::string note = {};  // for people, once: who it is, since when, what is done about it
  };
  // A client that waits calls this about once a second. An arbiter that is silent for too long is ended, so that
  // another can be started.
  virtual Pulse LookAfter(const JobRecords&) { return {}; }
  // Names, for people, the process that keeps a job from its end. Empty: no such process can be seen from here.
  virtual std::string WhoKeepsWaiting(const JobRecords&) const { return {}; }
};

}  // namespace tony
