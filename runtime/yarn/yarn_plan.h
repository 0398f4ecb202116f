// What a submit to a cluster would ask, ship and start. Looks at the sizes of our own programs, and asks nobody.
#pragma once

#include "runtime/backend/backend_values.h"
#include "runtime/base/result.h"
#include "runtime/job/job_spec.h"
#include "runtime/yarn/yarn_cluster.h"

namespace tony {

// kNotFound: one of our programs is not beside this one.
Result<PlannedSteps> PlanOnYarn(const YarnCluster& cluster, const JobSpec& spec);

}  // namespace tony
