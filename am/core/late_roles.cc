// Stages, and roles that start late: their state, and Job's policy and state changes for them.
#include "am/core/late_roles.h"

#include <algorithm>
#include <climits>
#include <utility>

#include "am/core/job.h"
#include "runtime/base/check.h"
#include "runtime/base/strings.h"
#include "runtime/framework/framework.h"
#include "runtime/job/cluster_spec.h"

namespace tony::am {

LateRoles::LateRoles(const JobSpec& spec) {
  for (const RoleSpec& role : spec.roles) {
    unopened_.emplace(role.name, 0);
    for (const Dependency& dependency : role.depends_on)
      if (dependency.until == Dependency::Until::kSucceeded) awaited_.insert(dependency.role);
  }
}

void LateRoles::Open(const RoleSpec& role, const TaskId& task) {
  const auto found = unopened_.find(role.name);
  if (found == unopened_.end()) return;
  found->second = std::max(found->second, task.index + 1);
  if (found->second == role.instances) unopened_.erase(found);
  TakePlace(role, task);
}

void LateRoles::TakePlace(const RoleSpec& role, const TaskId& task) {
  if (role.max_parallel > 0) places_[role.name].insert(task);
}

// A task that has ended holds its place until the end of its container is confirmed, because the next task needs the
// container's memory and GPUs.
bool LateRoles::HoldsPlace(const Task& task, const Containers& containers) {
  if (task.state != TaskState::kDone) return true;
  const Container* container = containers.Find(task.newest()->container);
  return container && container->state != ContainerState::kGone;
}

int LateRoles::PlacesHeld(const std::string& role, const Tasks& tasks, const Containers& containers) const {
  const auto found = places_.find(role);
  if (found == places_.end()) return 0;
  return static_cast<int>(
      std::ranges::count_if(found->second, [&](const TaskId& id) { return HoldsPlace(tasks.at(id), containers); }));
}

void LateRoles::DropFree(const std::string& role, const Tasks& tasks, const Containers& containers) {
  const auto found = places_.find(role);
  if (found == places_.end()) return;
  std::erase_if(found->second, [&](const TaskId& id) { return !HoldsPlace(tasks.at(id), containers); });
}

const Opening* LateRoles::Find(const Attempt& attempt) const {
  const auto found = openings_.find(attempt.opening);
  return found == openings_.end() ? nullptr : &found->second;
}

int LateRoles::Begin(std::set<TaskId> tasks) {
  if (tasks.empty()) return 0;
  openings_[++newest_] = {.tasks = tasks, .missing = std::move(tasks)};
  return newest_;
}

std::set<TaskId> LateRoles::Arrive(const Attempt& attempt) {
  const auto found = openings_.find(attempt.opening);
  if (found == openings_.end()) return {};
  std::set<TaskId>& missing = found->second.missing;
  if (IsFinal(attempt.state)) {
    missing.insert(attempt.id.task);
    return {};
  }
  missing.erase(attempt.id.task);
  if (!missing.empty()) return {};
  return std::move(openings_.extract(attempt.opening).mapped().tasks);
}

const Opening* LateRoles::Stuck(const Tasks& tasks) const {
  for (const auto& [number, opening] : openings_) {
    bool is_any_placed = false, is_any_unplaced = false;
    for (const TaskId& id : opening.tasks) {
      const Attempt& attempt = *tasks.at(id).newest();
      if (IsFinal(attempt.state) || attempt.state == AttemptState::kStopping) continue;
      (attempt.container.value.empty() ? is_any_unplaced : is_any_placed) = true;
    }
    if (is_any_placed && is_any_unplaced) return &opening;
  }
  return nullptr;
}

bool Stages::IsHeld(const JobSpec& spec, const AttemptId& id) const {
  return held_.contains({StageOf(spec, id.task.role), id});
}

// Notes that others wait for the values of the task. Called for each new attempt of the task, because the values of the
// previous attempt are void.
void Stages::AwaitValues(const JobSpec& spec, const TaskId& id) {
  if (!AwaitedValues(spec, id).empty()) unpublished_.emplace(StageOf(spec, id.role), id);
}

void Stages::Published(const JobSpec& spec, const TaskId& id) { unpublished_.erase({StageOf(spec, id.role), id}); }

void Stages::Hold(const JobSpec& spec, const AttemptId& id) { held_.emplace(StageOf(spec, id.task.role), id); }

void Stages::Release(const JobSpec& spec, const AttemptId& id) { held_.erase({StageOf(spec, id.task.role), id}); }

std::vector<AttemptId> Stages::HeldIn(int stage, const std::string& role) const {
  std::vector<AttemptId> attempts;
  auto held = role.empty() ? held_.begin() : held_.lower_bound({stage, AttemptId{{role, 0}, 0}});
  for (; held != held_.end() && held->first == stage; ++held) {
    if (!role.empty() && held->second.task.role != role) break;
    attempts.push_back(held->second);
  }
  return attempts;
}

bool HasPublished(const JobSpec& spec, const Attempt& attempt) {
  return std::ranges::all_of(AwaitedValues(spec, attempt.id.task),
                             [&](const std::string& name) { return attempt.values.contains(name); });
}

// ---- policy of Job

std::optional<DecisionBody> Job::NextStage() const {
  if (state_ != JobState::kRunning || stages_.held().empty()) return std::nullopt;
  const int stage = stages_.held().begin()->first;
  if (stage > 0) {
    if (!stages_.unpublished().empty() && stages_.unpublished().begin()->first < stage) return std::nullopt;
    return StageOpened{.stage = stage};
  }
  for (auto held = stages_.held().begin(); held != stages_.held().end();) {
    const std::string& role = held->second.task.role;
    if (IsReady(*spec_.FindRole(role))) return StageOpened{.role = role};
    held = stages_.held().upper_bound({stage, AttemptId{{role, INT_MAX}, INT_MAX}});
  }
  return std::nullopt;
}

bool Job::IsReady(const RoleSpec& role) const {
  return std::ranges::none_of(role.depends_on, [&](const Dependency& dependency) {
    if (late_roles_.HasUnopened(dependency.role)) return true;
    return std::ranges::any_of(stages_.unpublished(),
                               [&](const auto& by) { return by.second.role == dependency.role; });
  });
}

bool Job::HasSucceeded(const std::string& role) const {
  const RoleEnds ends = EndsOf(results_.ends(), *spec_.FindRole(role));
  return results_.IsFinished(role) || ends.succeeded + ends.failed == spec_.FindRole(role)->instances;
}

// A role that waits only until other roles are ready gets its containers together with these roles, and starts later.
std::vector<AttemptId> Job::AttemptsToOpen() const {
  std::vector<AttemptId> attempts;
  for (const auto& entry : late_roles_.unopened()) {
    const std::string& name = entry.first;
    const int first = entry.second;
    const RoleSpec& role = *spec_.FindRole(name);
    if (HasSucceeded(name) || results_.left().contains(name)) continue;
    const bool waits = std::ranges::any_of(late_roles_.awaited(), [&](const std::string& other) {
      return !HasSucceeded(other) && IsBefore(spec_, other, name);
    });
    if (waits) continue;
    const int free = role.AtOnce() - late_roles_.PlacesHeld(name, tasks_, containers_);
    const int end = role.max_parallel > 0 ? std::min(role.instances, first + free) : role.instances;
    for (int index = first; index < end; ++index) attempts.push_back({{name, index}, 1});
  }
  return attempts;
}

std::optional<DecisionBody> Job::NextRoles() const {
  if (late_roles_.unopened().empty()) return std::nullopt;
  std::vector<AttemptId> attempts = AttemptsToOpen();
  if (attempts.empty()) return std::nullopt;
  return ContainersRequested{std::move(attempts)};
}

int Job::GangSize() const {
  int size = static_cast<int>(tasks_.all().size());
  for (const auto& [role, first] : late_roles_.unopened()) size -= spec_.FindRole(role)->instances - first;
  for (const std::string& role : late_roles_.awaited())
    if (IsSettled(role)) size -= spec_.FindRole(role)->instances;
  return size;
}

bool Job::HasFormed(const Attempt& attempt) const { return IsFormed(attempt.id.task) && !late_roles_.Find(attempt); }

Decided Job::OnPublish(const PublishCall& call, Instant now) {
  Decided out = Hear(call.caller, now);
  if (out.refusal) return out;
  const Attempt& attempt = *tasks_.Find(call.caller.attempt);
  // The values come too late to count. The call is not refused, so that the executor does not repeat it.
  if (IsFinal(attempt.state)) return out;
  if (attempt.generation.value == 0)
    return {.refusal = Refusal{RefusalReason::kBadRequest, "the attempt has not received START yet"}};
  ValuesPublished fresh{.attempt = attempt.id};
  for (const std::string& name : ValueNames(spec_, attempt.id.task)) {
    const auto value = call.values.find(name);
    if (value != call.values.end() && !attempt.values.contains(name)) fresh.values.insert(*value);
  }
  if (!fresh.values.empty()) out.decisions.push_back(std::move(fresh));
  return out;
}

// A success without the values that other tasks wait for counts as a failure, because these tasks would wait for ever.
Outcome Job::WithoutValues(const Attempt& attempt, Outcome outcome, OutcomeClass if_missing) const {
  const bool counts =
      !verdict_ && attempt.generation.value > 0 && tasks_.at(attempt.id.task).state == TaskState::kActive;
  if (!counts || !outcome.Succeeded() || HasPublished(spec_, attempt)) return outcome;
  outcome.cls = if_missing;
  outcome.message = StrCat("the task ended without publishing ", Join(AwaitedValues(spec_, attempt.id.task), ", "),
                           ", which other tasks wait for");
  return outcome;
}

std::string Job::MissingValues() const {
  std::vector<std::string> missing;
  for (const auto& [by, id] : deadlines_.all(Limit::kPublish))
    missing.push_back(StrCat(ToString(id.task), " (", Join(AwaitedValues(spec_, id.task), ", "), ")"));
  return Join(missing, ", ");
}

// ---- the state changes that follow from decisions

Result<Actions> Job::Apply(const ValuesPublished& d, Instant) {
  Attempt* attempt = tasks_.Find(d.attempt);
  if (!attempt || IsFinal(attempt->state)) return Misfit(ToString(d.attempt));
  for (const auto& [name, value] : d.values) {
    if (!attempt->values.emplace(name, value).second) return Misfit(StrCat(name, " was published before"));
  }
  if (!HasPublished(spec_, *attempt)) return Actions{};
  stages_.Published(spec_, d.attempt.task);
  deadlines_.Clear(Limit::kPublish, *attempt);
  return Actions{};
}

Result<Actions> Job::Apply(const StageOpened& d, Instant time) {
  const std::vector<AttemptId> held = stages_.HeldIn(d.stage, d.role);
  if (state_ != JobState::kRunning || held.empty())
    return Misfit(StrCat("no attempt waits in ", d.role.empty() ? StrCat("stage ", d.stage) : "role " + d.role));
  const ClusterSpecText cluster = MakeClusterSpec(d.stage, d.role);
  Actions actions;
  for (const AttemptId& id : held) {
    stages_.Release(spec_, id);
    JoinGeneration(*tasks_.Find(id), cluster, time);
    actions.push_back(Tell(id));
  }
  return actions;
}

// Requests containers for first attempts. The attempts belong to the roles that the job begins with, or later to the
// roles that waited for the success of other roles.
Result<Actions> Job::Apply(const ContainersRequested& d, Instant time) {
  const bool opens = state_ == JobState::kRunning;
  if (!opens) TRY(Step(JobStep::kRequest));
  if (d.attempts.empty()) return Misfit("no container is requested");
  RequestContainers request;
  std::set<TaskId> opening;
  for (const AttemptId& id : d.attempts) {
    TRY(MakeAttempt(id, AttemptStep::kRequest, time));
    const RoleSpec& role = *spec_.FindRole(id.task.role);
    late_roles_.DropFree(role.name, tasks_, containers_);
    late_roles_.Open(role, id.task);
    request.asks.push_back(AskFor(id));
    if (opens && !IsFcfs()) opening.insert(id.task);
  }
  const int number = late_roles_.Begin(opening);
  for (const TaskId& id : opening) tasks_.at(id).newest()->opening = number;
  containers_.RestartWait(time);
  return Actions{request};
}

void Job::NoteInOpening(const Attempt& attempt, Instant time, Actions& actions) {
  const std::set<TaskId> tasks = late_roles_.Arrive(attempt);
  if (tasks.empty()) return;
  const ClusterSpecText cluster = MakeClusterSpec();
  for (const TaskId& id : tasks) {
    Attempt& first = *tasks_.at(id).newest();
    if (spec_.FindRole(id.role)->outlives_restarts) tasks_.Persist(id);
    if (StartOrHold(first, cluster, time)) actions.push_back(Tell(first.id));
  }
}

// Holds an attempt that may not start yet. The decision StageOpened starts it later.
bool Job::StartOrHold(Attempt& attempt, const ClusterSpecText& cluster, Instant time) {
  // A preempted attempt may be stopping while the other tasks register. Its end is judged as any other.
  if (attempt.state != AttemptState::kRegistered) return false;
  const int stage = StageOf(spec_, attempt.id.task.role);
  const bool waits =
      std::ranges::any_of(spec_.FindRole(attempt.id.task.role)->depends_on,
                          [](const Dependency& dependency) { return dependency.until == Dependency::Until::kReady; });
  if (stage > 0 || waits) {
    stages_.Hold(spec_, attempt.id);
    return false;
  }
  JoinGeneration(attempt, cluster, time);
  return true;
}

void Job::JoinGeneration(Attempt& attempt, const ClusterSpecText& cluster, Instant time) {
  attempt.generation = generation_;
  attempt.cluster_spec = cluster;
  checkpoints_.NoteResume(attempt.id);
  if (!HasPublished(spec_, attempt)) deadlines_.Set(Limit::kPublish, attempt, time + spec_.registration_timeout);
}

}  // namespace tony::am
