// Small parameter and result values of a backend.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "runtime/job/ids.h"
#include "runtime/spec/property_values.h"

namespace tony {

// Selects one of the clusters that a scheduler can reach: the cluster of a job by its id (an empty id names no job), or
// the cluster for a new job with these site files.
using ClusterOf = std::variant<JobId, SiteFiles>;

// The purpose of a check. A check for a plan changes nothing on this machine, ignores the limits of this process, and
// checks the job's sources in the cluster.
enum class CheckFor { kSubmit, kPlan };

struct CheckedJob {
  std::vector<std::string> notes;  // for people, one per line
  // The id that the scheduler has reserved for the job; if empty, the job store chooses the id.
  JobId id;
};

// A step that a submit would take, as a text for people. `tony plan` shows these steps.
struct PlannedStep {
  // The step of the preview: "asked" (of the scheduler), "shipped" (to the tasks), or "started".
  std::string what;
  std::string text;
};
using PlannedSteps = std::vector<PlannedStep>;

}  // namespace tony
