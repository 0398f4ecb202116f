// Starts the application master of a job, or brings it back. Seam: LocalAmLauncher.
#pragma once

#include "runtime/base/result.h"
#include "runtime/scheduler/arbiter.h"
#include "runtime/store/job_records.h"

namespace tony {

class AmLauncher : public Arbiter {
 public:
  // Returns once the keeper is started (not: once the AM answers). Harmless where one rules already. Until it can be
  // seen to rule, which may take long on a busy machine, Look() answers kStarting.
  virtual Status Start(const JobRecords& records) = 0;
};

}  // namespace tony
