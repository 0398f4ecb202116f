#include "tests/sim/stage_rules.h"

#include <algorithm>

namespace tony::sim {

int StageRule(const JobSpec& spec, const std::string& role) {
  if (spec.framework != FrameworkKind::kStaged || spec.mode == DistributedMode::kFcfs || role == "driver") return 0;
  return role == "ps" ? 1 : 2;
}

bool MustPublish(const JobSpec& spec, const std::string& role) {
  if (role != "driver" && role != "ps") return false;
  return std::ranges::any_of(
      spec.roles, [&](const RoleSpec& other) { return StageRule(spec, other.name) > StageRule(spec, role); });
}

}  // namespace tony::sim
