// What has to follow when a task fails: the restart rules said again in their own way, from the manual and not from
// am/. Whoever changes one of the two has to change the other.
#pragma once

#include <optional>
#include <vector>

#include "runtime/job/job_spec.h"
#include "runtime/job/outcome.h"

namespace tony::sim {

struct RestartSeen {
  Instant time;
  RestartScope scope = RestartScope::kTask;
  TaskId cause;
  bool charged = true;
  bool gives_back = false;  // nothing had failed
};

struct FailureSeen {
  TaskId task;
  OutcomeClass cls = OutcomeClass::kUserError;
  Advice advice = Advice::kNone;
  bool together = false;      // it belongs to a gang that had formed, and is not being restarted
  bool same_address = false;  // its executor is there and could go on
};

struct RestartDue {
  RestartScope scope = RestartScope::kTask;
  bool charged = true;
  Duration delay{0};
};

// Nothing: it does not start again.
std::optional<RestartDue> RestartAfter(const JobSpec& spec, const FailureSeen& failure,
                                       const std::vector<RestartSeen>& past, Instant now);

}  // namespace tony::sim
