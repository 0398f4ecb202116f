// The policy of roles that run on after those that they belong to: TensorFlow's workers and evaluator may hang for ever
// once the chief has ended.
#include <algorithm>

#include "am/core/completion_policy.h"
#include "am/core/evolve_parts.h"
#include "am/core/job.h"
#include "runtime/base/seconds.h"
#include "runtime/base/strings.h"

namespace tony::am {

bool Job::IsOver(const std::string& role) const {
  const auto done = done_.find(role);
  return done != done_.end() && done->second == spec_.FindRole(role)->instances;
}

// A task that has started again since has its whole time once more.
std::optional<Job::Outlived> Job::NextOutlived() const {
  std::optional<Outlived> next;
  if (state_ != JobState::kRunning) return next;
  for (const RoleSpec& role : spec_.roles) {
    const bool is_over = IsOver(role.name) || finished_.contains(role.name) || left_.contains(role.name);
    if (role.outlives.empty() || closed_.contains(role.name) || is_over) continue;
    for (const Outliving& rule : role.outlives) {
      if (!std::ranges::all_of(rule.roles, [&](const std::string& other) { return IsOver(other); })) continue;
      Instant since = last_begin_.at(role.name);
      for (const std::string& other : rule.roles) since = std::max(since, last_end_.at(other));
      if (!next || since + rule.limit < next->due) next = Outlived{since + rule.limit, &role, &rule};
    }
  }
  return next;
}

DecisionBody Job::EndOf(const Outlived& outlived, Instant now) const {
  const auto& [due, role, rule] = outlived;
  if (rule->ignored) return RoleLeft{role->name, rule->group};
  const std::string message =
      StrCat("role ", role->name, " ran on for longer than ", Seconds(rule->limit), " after ", Join(rule->roles, ", "),
             " had ended (", rule->Key(role->name), ")", WhoWasSilent(now));
  return JobStopping{{.state = FinalState::kFailed, .cls = OutcomeClass::kTimeout, .message = message},
                     spec_.timers.grace};
}

Result<Actions> Job::Apply(const RoleLeft& d, Instant) {
  if (!spec_.FindRole(d.role) || !left_.insert(d.role).second) return Misfit(StrCat("role ", d.role));
  return Actions{};
}

}  // namespace tony::am
