#include "runtime/framework/restart_scope.h"

#include "runtime/base/strings.h"
#include "runtime/framework/frameworks.h"

namespace tony {

RestartScope SmallestScope(const JobSpec& spec, const RoleSpec& role, bool same_address) {
  if (role.completion == Completion::kSidecar || spec.mode == DistributedMode::kFcfs) return RestartScope::kTask;
  if (!AwaitedValues(spec, {role.name, 0}).empty()) return RestartScope::kGang;
  return FrameworkOf(spec).smallest_scope(spec, role, same_address ? RestartScope::kTask : RestartScope::kGang);
}

RestartScope ScopeOfCollective(const JobSpec&, const RoleSpec& role, RestartScope if_reachable) {
  return role.completion == Completion::kTracked ? RestartScope::kGang : if_reachable;
}

std::vector<std::string> ScopeWarnings(const JobSpec& spec) {
  std::vector<std::string> warnings;
  for (const auto& role : spec.roles) {
    const RestartScope smallest = SmallestScope(spec, role, true);
    if (!role.restart_scope || *role.restart_scope >= smallest) continue;
    warnings.push_back(StrCat("role ", role.name, ": restart scope ", ToString(*role.restart_scope), " is less than ",
                              ToString(smallest), ", which ", ToString(spec.framework),
                              " needs: tasks that run on may hang, or compute the wrong thing"));
  }
  return warnings;
}

// A warning and no error: programs of which each does its own share run under these frameworks, too.
std::vector<std::string> ToleranceWarnings(const JobSpec& spec) {
  std::vector<std::string> warnings;
  if (spec.TrackedTasks() < 2) return warnings;
  for (const auto& role : spec.roles) {
    const bool decides = spec.completion_rule == CompletionRule::kTony && spec.IsChief({role.name, role.instances - 1});
    const bool may_fail = role.CountsFailures() && role.FailsAt() != 1 && !decides;
    if (!may_fail || SmallestScope(spec, role, true) < RestartScope::kGang) continue;
    warnings.push_back(StrCat("role ", role.name, ": its tasks may fail without failing the job, but a collective of ",
                              ToString(spec.framework), " cannot go on without one: the others may hang; tasks that ",
                              "do not need each other: tony.application.distributed-mode=FCFS"));
  }
  return warnings;
}

}  // namespace tony
