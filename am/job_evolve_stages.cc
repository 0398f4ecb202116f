// What follows from the decisions about stages.
#include "am/evolve_parts.h"
#include "am/job.h"
#include "runtime/base/strings.h"
#include "runtime/framework/framework.h"

namespace tony::am {

Result<Actions> Job::Apply(const ValuesPublished& d, Instant) {
  Attempt* attempt = Find(d.attempt);
  if (!attempt || IsFinal(attempt->state)) return Misfit(ToString(d.attempt));
  for (const auto& [name, value] : d.values) {
    if (!attempt->values.emplace(name, value).second) return Misfit(StrCat(name, " was published before"));
  }
  if (!HasPublished(*attempt)) return Actions{};
  unpublished_.erase({StageOf(spec_, d.attempt.task.role), d.attempt.task});
  publishing_.erase({attempt->publish_by, d.attempt});
  return Actions{};
}

Result<Actions> Job::Apply(const StageOpened& d, Instant time) {
  if (state_ != JobState::kRunning || held_.empty() || held_.begin()->first != d.stage)
    return Misfit(StrCat("nobody waits in stage ", d.stage));
  const ClusterSpecText cluster = MakeClusterSpec(d.stage);
  Actions actions;
  while (!held_.empty() && held_.begin()->first == d.stage) {
    Attempt& attempt = *Find(held_.begin()->second);
    held_.erase(held_.begin());
    TakeIn(attempt, cluster, time);
    actions.push_back(Tell(attempt.id));
  }
  return actions;
}

// What may not start now waits for its stage; whether that is open is another decision.
bool Job::StartOrHold(Attempt& attempt, const ClusterSpecText& cluster, Instant time) {
  const int stage = StageOf(spec_, attempt.id.task.role);
  if (stage > 0) {
    held_.emplace(stage, attempt.id);
    return false;
  }
  TakeIn(attempt, cluster, time);
  return true;
}

void Job::TakeIn(Attempt& attempt, const ClusterSpecText& cluster, Instant time) {
  attempt.generation = generation_;
  attempt.cluster_spec = cluster;
  resumed_from_ = ResumeOf(attempt.id);
  if (HasPublished(attempt)) return;
  attempt.publish_by = time + spec_.registration_timeout;
  publishing_.emplace(attempt.publish_by, attempt.id);
}

// Of a task's next attempt: what the one before has published is void.
void Job::AwaitValues(const AttemptId& id) {
  if (!AwaitedValues(spec_, id.task).empty()) unpublished_.emplace(StageOf(spec_, id.task.role), id.task);
}

// It ends or is told to.
void Job::StopAwaiting(const Attempt& attempt) {
  held_.erase({StageOf(spec_, attempt.id.task.role), attempt.id});
  publishing_.erase({attempt.publish_by, attempt.id});
}

}  // namespace tony::am
