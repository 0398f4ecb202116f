#include "tests/sim/stage_rules.h"

#include <algorithm>

namespace tony::sim {
namespace {

using Until = Dependency::Until;

const RoleSpec& RoleIn(const JobSpec& spec, const std::string& name) {
  return *std::ranges::find(spec.roles, name, &RoleSpec::name);
}

}  // namespace

int StageRule(const JobSpec& spec, const std::string& role) {
  if (spec.framework != FrameworkKind::kStaged || spec.mode == DistributedMode::kFcfs || role == "driver") return 0;
  return role == "ps" ? 1 : 2;
}

bool IsReadyFor(const JobSpec& spec, const std::string& publisher, const std::string& role) {
  const auto& all = RoleIn(spec, role).depends_on;
  return std::ranges::count(all, Dependency{publisher, Until::kReady}) > 0;
}

bool WaitsForReady(const JobSpec& spec, const std::string& role) {
  return std::ranges::count(RoleIn(spec, role).depends_on, Until::kReady, &Dependency::until) > 0;
}

bool MustPublish(const JobSpec& spec, const std::string& role) {
  const bool is_early = spec.framework == FrameworkKind::kStaged && (role == "driver" || role == "ps");
  return std::ranges::any_of(spec.roles, [&](const RoleSpec& other) {
    return (is_early && StageRule(spec, other.name) > StageRule(spec, role)) || IsReadyFor(spec, role, other.name);
  });
}

std::string PublishedBy(const JobSpec& spec, const std::string&) {
  return spec.framework == FrameworkKind::kStaged ? "ADDRESS" : "READY";
}

std::set<std::string> PreparersOf(const JobSpec& spec, const std::string& role) {
  std::set<std::string> all;
  for (const Dependency& dependency : RoleIn(spec, role).depends_on) {
    if (dependency.until == Until::kSucceeded) all.insert(dependency.role);
    all.merge(PreparersOf(spec, dependency.role));
  }
  return all;
}

bool Prepares(const JobSpec& spec, const std::string& role) {
  return std::ranges::any_of(spec.roles,
                             [&](const RoleSpec& other) { return PreparersOf(spec, other.name).contains(role); });
}

int WaveRule(const JobSpec& spec, const std::string& role) {
  int wave = 0;
  for (const std::string& before : PreparersOf(spec, role)) wave = std::max(wave, 1 + WaveRule(spec, before));
  return wave;
}

}  // namespace tony::sim
