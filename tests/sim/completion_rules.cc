#include "tests/sim/completion_rules.h"

#include <algorithm>
#include <limits>

#include "tests/sim/stage_rules.h"

namespace tony::sim {
namespace {

int GoodOf(const RoleSpec& role, const EndsSeen& ends) {
  const auto good = ends.good.find(role.name);
  return good == ends.good.end() ? 0 : good->second;
}

int BadOf(const RoleSpec& role, const EndsSeen& ends) {
  return static_cast<int>(
      std::ranges::count_if(ends.bad, [&](const AttemptId& id) { return id.task.role == role.name; }));
}

// So many tasks of the role may fail.
int Spare(const RoleSpec& role) {
  constexpr int kAll = std::numeric_limits<int>::max();
  if (role.min_failed) return *role.min_failed == 0 ? kAll : *role.min_failed - 1;
  if (role.min_succeeded > 0) return role.instances - role.min_succeeded;
  return role.completion == Completion::kSidecar ? kAll : 0;
}

bool Leads(const JobSpec& spec, const TaskId& task) {
  const bool chief = std::ranges::any_of(spec.roles, [](const RoleSpec& role) { return role.name == "chief"; });
  return task == (chief ? TaskId{"chief", 0} : TaskId{"worker", 0});
}

}  // namespace

bool IsIgnored(const RoleSpec& role) {
  return role.completion == Completion::kSidecar && role.min_failed.value_or(0) == 0;
}

std::optional<AttemptId> FailureNamed(const JobSpec& spec, const EndsSeen& before, const AttemptId& failed) {
  const RoleSpec& role = *spec.FindRole(failed.task.role);
  if (IsIgnored(role)) return std::nullopt;
  if (MustPublish(spec, role.name)) return failed;
  if (BadOf(role, before) + 1 > Spare(role)) {
    const auto first = std::ranges::find_if(before.bad, [&](const AttemptId& id) { return id.task.role == role.name; });
    return first == before.bad.end() ? failed : *first;
  }
  if (spec.completion_rule != CompletionRule::kTony) return std::nullopt;
  if (Leads(spec, failed.task)) return failed;
  for (const RoleSpec& other : spec.roles) {
    const int mine = other.name == role.name ? 1 : 0;
    if (other.completion == Completion::kTracked && BadOf(other, before) + mine < other.instances) return std::nullopt;
  }
  return before.bad.empty() ? failed : before.bad.front();
}

bool IsSatisfied(const RoleSpec& role, const EndsSeen& ends) {
  return role.min_succeeded > 0 && GoodOf(role, ends) >= role.min_succeeded;
}

int LeftOf(const RoleSpec& role, const EndsSeen& ends) {
  return role.instances - GoodOf(role, ends) - BadOf(role, ends);
}

bool IsOver(const JobSpec& spec, const EndsSeen& ends) {
  return std::ranges::all_of(spec.roles, [&](const RoleSpec& role) {
    const bool counts = role.completion == Completion::kTracked && !ends.left.contains(role.name);
    return !counts || IsSatisfied(role, ends) || LeftOf(role, ends) == 0;
  });
}

}  // namespace tony::sim
