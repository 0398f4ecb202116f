#include "am/core/tasks.h"

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/strings.h"

namespace tony::am {

bool WasTakenAway(const Outcome& outcome) {
  const bool is_infra = outcome.cls == OutcomeClass::kInfra && outcome.source != Source::kSignal;
  return is_infra || outcome.cls == OutcomeClass::kNodeLost || outcome.cls == OutcomeClass::kPreempted;
}

Tasks::Tasks(const JobSpec& spec) {
  for (const RoleSpec& role : spec.roles) {
    by_role_[role.name];
    for (int index = 0; index < role.instances; ++index) tasks_[TaskId{role.name, index}];
  }
}

Attempt* Tasks::Find(const AttemptId& id) { return const_cast<Attempt*>(std::as_const(*this).Find(id)); }

const Attempt* Tasks::Find(const AttemptId& id) const {
  const auto found = tasks_.find(id.task);
  if (found == tasks_.end()) return nullptr;
  const auto& attempts = found->second.attempts;
  if (id.number < 1 || id.number > static_cast<int>(attempts.size())) return nullptr;
  return &attempts[static_cast<size_t>(id.number) - 1];
}

int Tasks::CountInGang(AttemptState state) const {
  return Count(state) - static_cast<int>(std::ranges::count_if(
                            persistent_, [&](const TaskId& id) { return tasks_.at(id).newest()->state == state; }));
}

bool Tasks::IsOver(const RoleSpec& role) const {
  return role.instances > 0 && by_role_.at(role.name).done == role.instances;
}

Result<Attempt*> Tasks::Step(const AttemptId& id, AttemptStep step) {
  Attempt* attempt = Find(id);
  if (!attempt) return Misfit(StrCat("no attempt ", ToString(id)));
  const auto next = Next(attempt->state, step);
  if (!next) return Misfit(StrCat(ToString(id), " is ", ToString(attempt->state)));
  --counts_[static_cast<size_t>(attempt->state)];
  ++counts_[static_cast<size_t>(*next)];
  attempt->state = *next;
  return attempt;
}

Status Tasks::Step(const TaskId& id, TaskStep step) {
  Task& task = tasks_.at(id);
  const auto next = Next(task.state, step);
  if (!next) return Misfit(StrCat(ToString(id), " is ", ToString(task.state)));
  by_role_.at(id.role).done += (*next == TaskState::kDone) - (task.state == TaskState::kDone);
  task.state = *next;
  return Ok();
}

Result<Attempt*> Tasks::Add(const AttemptId& id, AttemptStep how, Instant time) {
  const auto found = tasks_.find(id.task);
  if (found == tasks_.end()) return Misfit(StrCat("no task ", ToString(id.task)));
  Task& task = found->second;
  const Attempt* last = task.newest();
  if (id.number != static_cast<int>(task.attempts.size()) + 1 || (last && !IsFinal(last->state)))
    return Misfit(ToString(id));
  TRY(Step(id.task, TaskStep::kRequest));
  const int restart = std::exchange(task.restart, 0);
  const int opening = last ? last->opening : 0;
  if (last) --counts_[static_cast<size_t>(last->state)];
  task.attempts.push_back({.id = id, .restart = restart, .opening = opening, .last_heard = time});
  ++counts_[static_cast<size_t>(AttemptState::kNew)];
  by_role_.at(id.task.role).last_begin = time;
  return Step(id, how);
}

void Tasks::Start(Attempt& attempt, int64_t pid, Instant time) {
  attempt.pid = pid;
  attempt.started = by_role_.at(attempt.id.task.role).last_begin = time;
}

void Tasks::End(Attempt& attempt, const Outcome& outcome, bool reported, Instant time) {
  attempt.outcome = outcome;
  attempt.reported = reported;
  attempt.ended = by_role_.at(attempt.id.task.role).last_end = time;
  attempt.suspect = false;
  attempt.pid = 0;
}

}  // namespace tony::am
