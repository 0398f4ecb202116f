// The policy of completion, as far as it needs the job's state: who has failed and is gone without, and what is over.
#include <algorithm>

#include "am/core/completion_policy.h"
#include "am/core/job.h"
#include "runtime/framework/framework.h"

namespace tony::am {

EndedTask Job::EndedAs(const AttemptId& id) const {
  const Attempt& attempt = *Find(id);
  return {attempt.id, attempt.host, &*attempt.outcome};
}

EarlierFailures Job::EarlierThan(const AttemptId& id) const {
  EarlierFailures earlier;
  if (tolerated_.empty()) return earlier;
  earlier.first = EndedAs(tolerated_.front());
  const auto of_role =
      std::ranges::find_if(tolerated_, [&](const AttemptId& other) { return other.task.role == id.task.role; });
  if (of_role != tolerated_.end()) earlier.first_of_role = EndedAs(*of_role);
  return earlier;
}

// Who waits for what a task is to publish would wait for ever.
std::optional<Verdict> Job::VerdictOn(const EndedTask& failed) const {
  if (!AwaitedValues(spec_, failed.attempt.task).empty()) return FailedBy(failed);
  return JudgeFailure(spec_, ends_, EarlierThan(failed.attempt), failed);
}

// Judged by the state alone, whatever was seen: what completes the job may be a success, or that one is gone without.
std::optional<DecisionBody> Job::WhatIsOver() const {
  if (state_ != JobState::kRunning) return std::nullopt;
  for (const RoleSpec& role : spec_.roles) {
    if (!HasEnough(role, EndsOf(ends_, role))) continue;
    // Of failures that have not been judged yet none matters any more.
    const auto unjudged =
        std::ranges::find_if(failed_, [&](const auto& failed) { return failed.second.task.role == role.name; });
    if (unjudged != failed_.end())
      return FailureTolerated{unjudged->second, DescribeFailure(EndedAs(unjudged->second))};
  }
  if (IsComplete(spec_, ends_, left_))
    return JobStopping{SuccessOf(spec_, ends_, EarlierThan({}).first, left_), spec_.timers.grace};
  for (const RoleSpec& role : spec_.roles) {
    const RoleEnds ends = EndsOf(ends_, role);
    const bool all_over = ends.succeeded + ends.failed == role.instances;
    if (!HasEnough(role, ends) || all_over || finished_.contains(role.name)) continue;
    if (!AwaitedValues(spec_, {role.name, 0}).empty()) continue;
    return RoleFinished{role.name, DescribeEnough(role, ends), spec_.timers.grace};
  }
  return std::nullopt;
}

double Job::Progress() const {
  int over = 0;
  for (const RoleSpec& role : spec_.roles) {
    if (role.completion != Completion::kTracked) continue;
    const RoleEnds ends = EndsOf(ends_, role);
    over += HasEnough(role, ends) ? role.instances : ends.succeeded + ends.failed;
  }
  return static_cast<double>(over) / spec_.TrackedTasks();
}

}  // namespace tony::am
