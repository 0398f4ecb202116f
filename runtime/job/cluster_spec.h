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

// The ports of a task in addition to its main port, on the same host, by the names that the framework gives them.
using NamedPorts = std::map<std::string, int>;
// The limit for one task, including the ports of its single processes.
constexpr size_t kMostNamedPorts = 64;
// Returns whether the name is a letter, followed by letters, digits and underscores; lower case, at most 32 characters.
bool IsPortName(std::string_view name);

struct ClusterSpec {
  Generation generation;
  // The addresses of all tasks that have one, including untracked tasks. In FCFS mode only the roles that the reader
  // depends on, and possibly the reader's own role (Job::MakeClusterSpec).
  std::map<std::string, std::vector<Endpoint>> roles;
  std::map<TaskId, NamedPorts> ports;  // only tasks with additional ports
  // Values that other tasks have published for the reader of this spec, e.g. tasks of earlier stages.
  std::map<TaskId, PublishedValues> values;
  // The number of processes of each task in a role; 1 if the role is not listed.
  std::map<std::string, int> processes;
  bool operator==(const ClusterSpec&) const = default;

  int ProcessesOf(const std::string& role) const;
};

// {"generation":1,"roles":{"worker":["127.0.0.1:4711", ...]},"ports":{"worker:0":{"data":4712}},
//  "values":{"driver:0":{"ADDRESS":"..."}},"processes":{"worker":3}}
// "ports", "values" and "processes" are left out if they are empty.
std::string ToJson(const ClusterSpec& spec);
Result<ClusterSpec> ClusterSpecFromJson(std::string_view json);

// ---- Dependencies: which roles wait for which, by RoleSpec::depends_on. Pure functions of the spec.

// The name of the value that a task publishes when it is ready. Roles that wait until the task's role is ready wait for
// this value.
inline constexpr std::string_view kReadyValue = "READY";

// The name of the role that tony.application.enable-preprocess adds. Its only task runs before all others; TonY ran it
// in its application master.
inline constexpr std::string_view kPreprocess = "preprocess";
bool IsPreprocess(const RoleSpec& role);
bool HasPreprocess(const JobSpec& spec);

// A mistake in the dependencies. A role must not wait for itself, for a missing role, or in a circle, which is then
// named ("a -> b -> a"). A role must not wait for a sidecar, nor for the success of a role that is not tracked, because
// the job does not wait for the end of such tasks.
struct DependencyFault {
  std::string role;  // role with the wrong depends-on
  std::string why;
};
std::optional<DependencyFault> FindFault(const JobSpec& spec);
// Returns the first fault as kInvalid; the message begins with the property key of the role.
Status CheckDependencies(const JobSpec& spec);

// Returns whether every task of `role` has succeeded before any task of `other` gets a container.
bool IsBefore(const JobSpec& spec, std::string_view role, std::string_view other);

// Returns whether some role depends on `role` with this condition.
bool IsAwaited(const JobSpec& spec, std::string_view role, Dependency::Until until);

// Returns the spec with only those roles that may run at the same time as `role`. A role is missing if it waits for the
// success of `role`, or the other way round.
JobSpec ConcurrentRoles(const JobSpec& spec, std::string_view role);

// Adds up `amount` over roles that may run at the same time, and returns the largest sum. If a job with dependencies
// has more than 12 roles, the result is the sum over all of them.
int64_t LargestConcurrentSum(const JobSpec& spec, const std::function<int64_t(const RoleSpec&)>& amount);

// Returns the roles that `role` itself waits for, e.g. "data" and "head (ready)".
std::vector<std::string> AwaitedRoles(const RoleSpec& role);

}  // namespace tony
