// Starts the application master of a job, or brings it back. Seam: LocalAmLauncher.
#pragma once

#include "runtime/base/result.h"
#include "runtime/store/job_folder.h"

namespace tony {

class AmLauncher {
 public:
  virtual ~AmLauncher() = default;
  // Returns once the arbiter is started (not: once the AM answers). Harmless where one rules already.
  virtual Status Start(const JobFolder& folder) = 0;
  // Whether an arbiter that was started here for this job lives: on a busy machine it may be long before it can be seen
  // to rule.
  virtual bool IsUp(const JobFolder& folder) const = 0;
};

}  // namespace tony
