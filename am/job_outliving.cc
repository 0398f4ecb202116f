// The policy of roles that run on after those that they belong to: TensorFlow's workers and evaluator may hang for ever
// once the chief has ended.
#include <algorithm>

#include "am/completion_policy.h"
#include "am/evolve_parts.h"
#include "am/job.h"
#include "runtime/base/strings.h"
#include "runtime/job/seconds.h"

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
    if (role.outlives.empty() || closed_.contains(role.name) || IsOver(role.name) || left_.contains(role.name))
      continue;
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

int Job::Successes() const {
  int successes = tracked_successes_;
  for (const std::string& name : left_) {
    const RoleSpec& role = *spec_.FindRole(name);
    const auto succeeded = succeeded_.find(name);
    if (role.completion == Completion::kTracked)
      successes += role.instances - (succeeded == succeeded_.end() ? 0 : succeeded->second);
  }
  return successes;
}

std::optional<DecisionBody> Job::SucceedWithoutThose() const {
  if (left_.empty() || verdict_ || Successes() < spec_.TrackedTasks()) return std::nullopt;
  const std::string names = Join(std::vector<std::string>(left_.begin(), left_.end()), ", ");
  return JobStopping{{.state = FinalState::kSucceeded,
                      .cls = OutcomeClass::kSuccess,
                      .message = StrCat("all tracked tasks succeeded but those of ", names,
                                        ", which ran on for too long and were to be ignored then")},
                     spec_.timers.grace};
}

Result<Actions> Job::Apply(const RoleLeft& d, Instant) {
  if (!spec_.FindRole(d.role) || !left_.insert(d.role).second) return Misfit(StrCat("role ", d.role));
  return Actions{};
}

}  // namespace tony::am
