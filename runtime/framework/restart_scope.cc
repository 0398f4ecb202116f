#include "runtime/framework/restart_scope.h"

#include "runtime/base/check.h"
#include "runtime/base/strings.h"

namespace tony {
namespace {

RestartScope OfTensorflow(const JobSpec& spec, const RoleSpec& role, RestartScope if_reachable) {
  if (role.name == "evaluator") return RestartScope::kTask;
  const bool serves = role.name == "ps" || role.name == "chief";
  return spec.FindRole("ps") && !serves ? if_reachable : RestartScope::kGang;
}

}  // namespace

RestartScope SmallestScope(const JobSpec& spec, const RoleSpec& role, bool same_address) {
  if (role.completion == Completion::kSidecar || spec.mode == DistributedMode::kFcfs) return RestartScope::kTask;
  const RestartScope if_reachable = same_address ? RestartScope::kTask : RestartScope::kGang;
  switch (spec.framework) {
    case FrameworkKind::kStandalone:
      return RestartScope::kTask;
    case FrameworkKind::kTensorflow:
      return OfTensorflow(spec, role, if_reachable);
    case FrameworkKind::kPytorch:
    case FrameworkKind::kJax:
    case FrameworkKind::kLightgbm:
    case FrameworkKind::kXgboost:
      return role.completion == Completion::kTracked ? RestartScope::kGang : if_reachable;
  }
  CHECK(false);
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

}  // namespace tony
