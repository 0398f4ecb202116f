// Which roles wait for which: what follows from RoleSpec::depends_on. Pure functions of the spec.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/job/job_spec.h"

namespace tony {

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
