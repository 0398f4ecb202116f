// The programs that a job is made of: its own copy of this release, whatever is installed while it runs.
#pragma once

#include <filesystem>
#include <string>

#include "runtime/staging/programs.h"

namespace tony {

struct ProgramsOfJob {
  KeptPrograms kept;    // the lock is to be held until the job is recorded
  std::string warning;  // for the person, once there is a job: it keeps none, why, and what follows
};

// Those beside this program, kept in `home`. Where none can be kept there the job runs those beside this program.
ProgramsOfJob ProgramsForJob(const std::filesystem::path& home);

}  // namespace tony
