// Which properties make a job ask for more than its machine has. A flow that was written for a cluster asks for what
// that had, and who reads the step's log may not have written it. Pure.
#pragma once

#include <string>

#include "runtime/base/result.h"
#include "runtime/config/configuration.h"
#include "runtime/job/job_spec.h"

namespace tony::azkaban {

// `refused`, by the check of the machine: with each role's number of tasks, memory and GPUs, as the properties that say
// them, their values and where they stand. An error about anything else comes back as it is.
Error WithWhatAsks(Error refused, const JobSpec& spec, const Configuration& configuration);

}  // namespace tony::azkaban
