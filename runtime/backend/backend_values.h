// Small parameter and result values of a backend.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "runtime/job/ids.h"
#include "runtime/spec/property_values.h"

namespace tony {

// Selects the cluster of a scheduler that can reach several: the cluster of a job by its id (empty: no job is named),
// or the cluster for a new job with these site files.
using ClusterOf = std::variant<JobId, SiteFiles>;

// The purpose of a check. A check for a plan changes nothing on this machine, ignores the limits of this process, and
// checks the job's sources in the cluster.
enum class CheckFor { kSubmit, kPlan };

// A step that a submit would take, in words for people, as `tony plan` shows it.
struct PlannedStep {
  std::string what;  // "asked", "shipped", "started"
  std::string text;
};
using PlannedSteps = std::vector<PlannedStep>;

}  // namespace tony
