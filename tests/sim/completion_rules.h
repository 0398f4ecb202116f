// When a job is over, said again from the manual and not from am/core/judgement. Whoever changes one of the two has
// to change the other.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/job/job_spec.h"

namespace tony::sim {

// How the tasks stand that are not being restarted.
struct EndsSeen {
  std::map<std::string, int> good;  // by role
  std::vector<AttemptId> bad;       // the job goes on without them, in this order
  std::set<std::string> left;       // roles that are not waited for any more
};

// What has to follow a failure that is not restarted: the job fails, and names this one.
std::optional<AttemptId> FailureNamed(const JobSpec& spec, const EndsSeen& before, const AttemptId& failed);
bool IsIgnored(const RoleSpec& role);  // whether its tasks fail has no meaning at all

bool IsSatisfied(const RoleSpec& role, const EndsSeen& ends);  // enough of it have succeeded
int LeftOf(const RoleSpec& role, const EndsSeen& ends);        // tasks that have neither succeeded nor failed
bool IsOver(const JobSpec& spec, const EndsSeen& ends);        // with success

}  // namespace tony::sim
