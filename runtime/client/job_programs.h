// The programs that a job is made of: its own copy of this release, whatever is installed while it runs.
#pragma once

#include <string>

#include "runtime/backend/backend.h"
#include "runtime/base/result.h"
#include "runtime/staging/programs.h"

namespace tony {

struct ProgramsOfJob {
  KeptPrograms kept;    // the lock is to be held until the job is recorded
  std::string warning;  // for the person, once there is a job: it keeps none, why, and what follows
};

// Those beside this program, kept in $TONY_HOME; none where the backend's jobs do not run them. Where none can be kept
// there the job runs those beside this program. Errors: TonyHome()'s.
Result<ProgramsOfJob> ProgramsForJob(const Backend& backend);

}  // namespace tony
