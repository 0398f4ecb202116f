// What follows from the decisions about stages.
#include <algorithm>

#include "am/core/evolve_parts.h"
#include "am/core/job.h"
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
  const auto is_of = [&](const std::pair<int, AttemptId>& held) {
    return held.first == d.stage && (d.role.empty() || held.second.task.role == d.role);
  };
  const auto first = d.role.empty() ? held_.begin() : held_.lower_bound({d.stage, AttemptId{{d.role, 0}, 0}});
  if (state_ != JobState::kRunning || first == held_.end() || !is_of(*first))
    return Misfit(StrCat("nobody waits in ", d.role.empty() ? StrCat("stage ", d.stage) : "role " + d.role));
  const ClusterSpecText cluster = MakeClusterSpec(d.stage, d.role);
  Actions actions;
  for (auto held = first; held != held_.end() && is_of(*held); held = held_.erase(held)) {
    Attempt& attempt = *Find(held->second);
    TakeIn(attempt, cluster, time);
    actions.push_back(Tell(attempt.id));
  }
  return actions;
}

// The first attempts of roles: all that the job begins with, or of those that waited for others to succeed.
Result<Actions> Job::Apply(const ContainersRequested& d, Instant time) {
  const bool opens = state_ == JobState::kRunning;
  if (!opens) TRY(Step(JobStep::kRequest));
  if (d.attempts.empty()) return Misfit("nothing is asked for");
  RequestContainers request;
  Opening opening;
  if (opens) ++last_opening_;
  for (const AttemptId& id : d.attempts) {
    TRY_ASSIGN(Attempt* const attempt, MakeAttempt(id, AttemptStep::kRequest, time));
    closed_.erase(id.task.role);
    unplaced_.insert(id);
    request.asks.push_back(AskFor(id));
    if (!opens || IsFcfs()) continue;
    attempt->opening = last_opening_;
    opening.tasks.insert(id.task);
  }
  opening.missing = opening.tasks;
  opening.unplaced = static_cast<int>(opening.tasks.size());
  if (!opening.tasks.empty()) openings_[last_opening_] = std::move(opening);
  unplaced_since_ = time;
  return Actions{request};
}

Job::Opening* Job::OpeningOf(const Attempt& attempt) {
  const auto found = openings_.find(attempt.opening);
  return found == openings_.end() ? nullptr : &found->second;
}

void Job::ArriveFirst(const Attempt& attempt, Instant time, Actions& actions) {
  Opening* opening = OpeningOf(attempt);
  if (!opening) return;
  if (IsFinal(attempt.state)) {
    opening->missing.insert(attempt.id.task);
    --(attempt.container.value.empty() ? opening->unplaced : opening->placed);
    return;
  }
  opening->missing.erase(attempt.id.task);
  if (!opening->missing.empty()) return;
  const std::set<TaskId> tasks = std::move(opening->tasks);
  openings_.erase(attempt.opening);
  const ClusterSpecText cluster = MakeClusterSpec();
  for (const TaskId& id : tasks) {
    Attempt& first = *tasks_.at(id).newest();
    if (spec_.FindRole(id.role)->outlives_restarts) beside_.insert(id);
    if (StartOrHold(first, cluster, time)) actions.push_back(Tell(first.id));
  }
}

// What may not start now waits for its stage; whether that is open is another decision.
bool Job::StartOrHold(Attempt& attempt, const ClusterSpecText& cluster, Instant time) {
  const int stage = StageOf(spec_, attempt.id.task.role);
  const bool waits =
      std::ranges::any_of(spec_.FindRole(attempt.id.task.role)->depends_on,
                          [](const Dependency& dependency) { return dependency.until == Dependency::Until::kReady; });
  if (stage > 0 || waits) {
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
