// Small values that a backend takes and gives.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "runtime/job/ids.h"
#include "runtime/spec/property_values.h"

namespace tony {

// Whose cluster is meant, of a scheduler that may reach several: that of a job by its id (empty: no job is named), or
// that where a job with these site files is to be made.
using ClusterOf = std::variant<JobId, SiteFiles>;

// A check for a plan changes nothing on this machine, leaves out the limits of this process, and looks at the job's
// sources in the cluster.
enum class CheckFor { kSubmit, kPlan };

// What a submit would have a scheduler do, in words for people, as `tony plan` tells it.
struct PlannedStep {
  std::string what;  // "asked", "shipped", "started"
  std::string text;
};
using PlannedSteps = std::vector<PlannedStep>;

}  // namespace tony
