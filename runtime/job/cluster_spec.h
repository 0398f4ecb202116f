// Role -> host:port by index, for one generation of the gang.
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

// Ports of a task besides its own, at the same host, by the names that its framework gives them.
using NamedPorts = std::map<std::string, int>;
constexpr size_t kMostNamedPorts = 64;   // of one task, with those of its single processes
bool IsPortName(std::string_view name);  // lower-case letters, digits and underscores after a letter; 32 at most

struct ClusterSpec {
  Generation generation;
  // Every task of the job, also untracked ones. Empty where tasks start first come first served.
  std::map<std::string, std::vector<Endpoint>> roles;
  std::map<TaskId, NamedPorts> ports;        // of the tasks that have any
  std::map<TaskId, PublishedValues> values;  // of tasks of earlier stages than whoever is told
  std::map<std::string, int> processes;      // of each task of these roles; one where the role is not there
  bool operator==(const ClusterSpec&) const = default;

  int ProcessesOf(const std::string& role) const;
};

// {"generation":1,"roles":{"worker":["127.0.0.1:4711", ...]},"ports":{"worker:0":{"data":4712}},
//  "values":{"driver:0":{"ADDRESS":"..."}},"processes":{"worker":3}}; the last three where there are any.
std::string ToJson(const ClusterSpec& spec);
Result<ClusterSpec> ClusterSpecFromJson(std::string_view json);

// Which roles wait for which: what follows from RoleSpec::depends_on. Pure functions of the spec.

// The one value that a role publishes, for which others wait that depend on it as ready.
inline constexpr std::string_view kReadyValue = "READY";

// The one task that tony.application.enable-preprocess runs before all others, as TonY did in its application master.
inline constexpr std::string_view kPreprocess = "preprocess";
bool IsPreprocess(const RoleSpec& role);
bool HasPreprocess(const JobSpec& spec);

// No role waits for itself, for one that is not there, or in a circle, which is named ("a -> b -> a"); and none for the
// success of a role that is not tracked, whose end nobody waits for. kInvalid names the role.
struct DependencyFault {
  std::string role;  // whose depends-on it is
  std::string why;
};
std::optional<DependencyFault> FindFault(const JobSpec& spec);
Status CheckDependencies(const JobSpec& spec);  // the same

// Every task of `role` has succeeded before one of `other` has a container.
bool IsBefore(const JobSpec& spec, std::string_view role, std::string_view other);

bool IsAwaited(const JobSpec& spec, std::string_view role, Dependency::Until until);  // by some other role

// The roles of the spec that may run while `role` does: all but those that are before it, or which it is before.
JobSpec RunningWith(const JobSpec& spec, std::string_view role);

// The most of something that roles which may run together have; of more than a dozen roles that wait for each other,
// all.
int64_t MostAtOnce(const JobSpec& spec, const std::function<int64_t(const RoleSpec&)>& amount);

// "data", "head (ready)": for which it waits itself.
std::vector<std::string> WaitsFor(const RoleSpec& role);

}  // namespace tony
