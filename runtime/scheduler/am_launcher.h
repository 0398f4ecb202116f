// Starts the application master of a job, or brings it back. Seam: LocalAmLauncher.
#pragma once

#include "runtime/base/result.h"
#include "runtime/scheduler/arbiter.h"
#include "runtime/store/job_records.h"

namespace tony {

class AmLauncher : public Arbiter {
 public:
  // Returns once the keeper is started (not: once the AM answers). False: nothing was started, because one lives or
  // begins, or nothing is left to keep. Until it can be seen to rule, which may take long on a busy machine, Look()
  // answers kStarting, whoever asks.
  virtual Result<bool> Start(const JobRecords& records) = 0;
};

}  // namespace tony
