// Whether a failed task starts again, with whom, when, and who pays for it: a pure rule over the spec, the end, and the
// restarts there were.
#pragma once

#include <span>
#include <string>
#include <variant>

#include "am/core/completion_policy.h"
#include "runtime/base/time.h"
#include "runtime/job/job_spec.h"

namespace tony::am {

struct PastRestart {
  Instant time;
  RestartScope scope;
  TaskId cause;
  bool charged;
  bool gives_back = false;  // nothing had failed: the rest of a gang did not get containers
};

struct FailedTask {
  EndedTask ended;
  bool gang_has_formed;  // and is not being restarted; before, nobody computes: the task is replaced alone
  bool same_address;     // it can go on in its executor
};

struct RestartPlan {
  RestartScope scope;
  bool charged;
  Duration delay{0};
};
struct NoRestart {
  std::string why;  // for the verdict; empty: restarts were never asked for
};

// What the job says for the role, or else its framework; of a sidecar that outlives the gang's restarts at most its
// role.
RestartScope SmallestRestart(const JobSpec& spec, const RoleSpec& role, bool same_address);

// A failure that is nobody's charge takes from `restart.lost`, and when that is used up from the levels like any
// other. The levels are tried from the smallest scope upwards; those of a sidecar, whose failure is ignored, end with
// its role, unless the job itself asks for more.
std::variant<RestartPlan, NoRestart> PlanRestart(const JobSpec& spec, const FailedTask& failed,
                                                 std::span<const PastRestart> past, Instant now);

}  // namespace tony::am
