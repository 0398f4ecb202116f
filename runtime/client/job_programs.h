// The programs that a job is made of: its own copy of this release, whatever is installed while it runs.
#pragma once

#include <filesystem>

#include "runtime/staging/programs.h"

namespace tony {

// Those beside this program, kept in `home`. The lock is to be held until the job is recorded. Where none can be kept
// there a warning says why and what follows, and the job runs those beside this program.
KeptPrograms ProgramsForJob(const std::filesystem::path& home);

}  // namespace tony
