// The addresses of the tasks in one generation of the gang (role -> host:port by index), and the dependencies between
// roles.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/endpoint.h"
#include "runtime/base/result.h"
#include "runtime/job/ids.h"
#include "runtime/job/job_spec.h"
#include "runtime/job/outputs.h"

namespace tony {

// The additional ports of a task. They are on the same host as its main port, and the framework gives each of them a
// name.
using NamedPorts = std::map<std::string, int>;
// The largest number of named ports of one task, including the ports of its single processes.
constexpr size_t kMostNamedPorts = 64;
// Returns whether the name consists of a lower-case letter and then lower-case letters, digits or underscores, at most
// 32 characters in all.
bool IsPortName(std::string_view name);

struct ClusterSpec {
  Generation generation;
  // The addresses of all tasks that have an address, including untracked tasks. In FCFS mode, in which tasks do not
  // wait for each other, the spec has only the roles that its reader depends on. It may also have the reader's own role
  // (Job::MakeClusterSpec).
  std::map<std::string, std::vector<Endpoint>> roles;
  std::map<TaskId, NamedPorts> ports;  // only tasks with additional ports
  // Values that other tasks have published for the reader of this spec, e.g. tasks of earlier stages.
  std::map<TaskId, PublishedValues> values;
  // The number of processes of each task in a role; 1 if the role is not listed.
  std::map<std::string, int> processes;
  bool operator==(const ClusterSpec&) const = default;

  int ProcessesOf(const std::string& role) const;
};

// Write and read the JSON form. "ports", "values" and "processes" are left out if they are empty:
// {"generation":1,"roles":{"worker":["127.0.0.1:4711", ...]},"ports":{"worker:0":{"data":4712}},
//  "values":{"driver:0":{"ADDRESS":"..."}},"processes":{"worker":3}}
std::string ToJson(const ClusterSpec& spec);
Result<ClusterSpec> ClusterSpecFromJson(std::string_view json);

// ---- Dependencies: which roles wait for which, by RoleSpec::depends_on. Pure functions of the spec.

// The name of the value that a task publishes when it is ready. Roles that wait until the task's role is ready wait for
// this value.
inline constexpr std::string_view kReadyValue = "READY";

// The name of the role that tony.application.enable-preprocess adds. The role's only task runs before all others. TonY
// ran this task in its application master.
inline constexpr std::string_view kPreprocess = "preprocess";
bool IsPreprocess(const RoleSpec& role);
bool HasPreprocess(const JobSpec& spec);

// A mistake in the dependencies. A role must not wait for itself or for a missing role. Roles must not wait for each
// other in a circle; `why` names such a circle ("a -> b -> a"). A role must not wait for a sidecar, nor for the
// success of an untracked role, because the job does not wait for the end of such tasks.
struct DependencyFault {
  std::string role;  // role with the wrong depends-on
  std::string why;
};
std::optional<DependencyFault> FindFault(const JobSpec& spec);
// Returns the first fault as kInvalid; the message begins with the property key of the role.
Status CheckDependencies(const JobSpec& spec);

// Returns whether every task of `role` must have succeeded before any task of `other` gets a container.
bool IsBefore(const JobSpec& spec, std::string_view role, std::string_view other);

// Returns whether some role depends on `role` with this condition.
bool IsAwaited(const JobSpec& spec, std::string_view role, Dependency::Until until);

// Returns the spec with only those roles that may run at the same time as `role`. A role is left out if it waits for
// the success of `role`, or if `role` waits for the success of that role.
JobSpec ConcurrentRoles(const JobSpec& spec, std::string_view role);

// Returns the largest sum of `amount` over roles that may run at the same time. If a job with dependencies has more
// than 12 roles, returns the sum over all of them.
int64_t LargestConcurrentSum(const JobSpec& spec, const std::function<int64_t(const RoleSpec&)>& amount);

// Returns the roles that `role` directly waits for, e.g. "data" and "head (ready)".
std::vector<std::string> AwaitedRoles(const RoleSpec& role);

}  // namespace tony
