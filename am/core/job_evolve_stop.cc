// What follows from the decisions to end something.
#include <algorithm>

#include "am/core/evolve_parts.h"
#include "am/core/job.h"
#include "runtime/base/check.h"
#include "runtime/base/strings.h"

namespace tony::am {

Result<Actions> Job::Apply(const ContainerKillOrdered& d, Instant time) {
  const auto found = containers_.find(d.container);
  if (found == containers_.end() || found->second.state != ContainerState::kHeld) return Misfit(d.container.value);
  StopWatching(d.container);
  found->second.state = ContainerState::kKilling;
  Attempt& attempt = *Find(found->second.attempt);
  const bool was_to_wait = IsFinal(attempt.state) && found->second.leave_by == Instant{};
  if (Restart* restart = RestartOf(attempt.id.task); restart && was_to_wait) AwaitGone(*restart, attempt, time);
  // Where the job itself stops, nothing waits for it but the end, which the scheduler has to confirm.
  if (IsWatched(attempt) || (attempt.state == AttemptState::kStopping && !verdict_)) GiveUp(attempt, time);
  return Actions{StopContainer{d.container, StopMode::kKill}};
}

Result<Actions> Job::Apply(const JobStopping& d, Instant time) {
  TRY(Step(JobStep::kStop));
  verdict_ = d.verdict;
  stop_grace_ = d.grace;
  Actions actions;
  AbandonRestarts(time, actions);
  for (const auto& [ended, id] : failed_) LetGo(*Find(id), time + kLeaveLimit, actions);
  for (auto& [id, task] : tasks_) {
    Attempt* attempt = task.newest();
    if (!attempt || IsFinal(attempt->state)) continue;
    if (attempt->state == AttemptState::kStopping) {
      Hurry(*attempt, d.grace, time, actions);
    } else {
      StopAttempt(*attempt, d.grace, time, actions);
    }
  }
  return actions;
}

Result<Actions> Job::Apply(const StopHurried& d, Instant time) {
  if (state_ != JobState::kStopping) return Misfit("the job is not stopping");
  stop_grace_ = d.grace;
  Actions actions;
  for (auto& [id, task] : tasks_) {
    Attempt* attempt = task.newest();
    if (attempt && attempt->state == AttemptState::kStopping) Hurry(*attempt, d.grace, time, actions);
  }
  return actions;
}

Result<Actions> Job::Apply(const AttemptStopping& d, Instant time) {
  Attempt* attempt = Find(d.attempt);
  if (!attempt || !Next(attempt->state, AttemptStep::kStop)) return Misfit(ToString(d.attempt));
  attempt->because = d.because;
  Actions actions;
  StopAttempt(*attempt, d.grace, time, actions);
  return actions;
}

Result<Actions> Job::Apply(const FailureTolerated& d, Instant time) {
  Attempt* attempt = Find(d.attempt);
  if (!attempt || !attempt->ended || failed_.erase({*attempt->ended, d.attempt}) == 0)
    return Misfit(ToString(d.attempt));
  attempt->tolerated = true;
  tolerated_.push_back(d.attempt);
  ++ends_[d.attempt.task.role].failed;
  Actions actions;
  LetGo(*attempt, time + kLeaveLimit, actions);
  return actions;
}

Result<Actions> Job::Apply(const RoleFinished& d, Instant time) {
  if (!spec_.FindRole(d.role) || !finished_.insert(d.role).second) return Misfit(d.role);
  Actions actions;
  for (auto task = tasks_.lower_bound({d.role, 0}); task != tasks_.end() && task->first.role == d.role; ++task) {
    AbandonRestartOf(task->first, time, actions);
    Attempt* attempt = task->second.newest();
    if (!attempt || IsFinal(attempt->state)) continue;
    attempt->because = Outcome{.cls = OutcomeClass::kKilled, .message = d.reason};
    if (attempt->state != AttemptState::kStopping) StopAttempt(*attempt, d.grace, time, actions);
  }
  return actions;
}

Result<Actions> Job::Apply(const OwnerChanged& d, Instant) {
  TRY(attention_.Apply(d));
  return Actions();
}

Result<Actions> Job::Apply(const WatcherChanged& d, Instant) {
  TRY(attention_.Apply(d));
  return Actions();
}

Result<Actions> Job::Apply(const KillPlanned& d, Instant) {
  TRY(attention_.Apply(d));
  return Actions();
}

Result<Actions> Job::Apply(const KillVoided& d, Instant) {
  TRY(attention_.Apply(d));
  return Actions();
}

void Job::StopAttempt(Attempt& attempt, Duration grace, Instant time, Actions& actions) {
  const auto next = Next(attempt.state, AttemptStep::kStop);
  CHECK(next.has_value());
  Move(attempt, *next);
  attempt.stops = 1;
  attempt.stop_grace = grace;
  allocating_.erase({attempt.allocate_by, attempt.id});
  registering_.erase({attempt.register_by, attempt.id});
  StopAwaiting(attempt);
  if (attempt.container.value.empty()) {
    withdrawn_.insert(attempt.id);
    auto* others = actions.empty() ? nullptr : std::get_if<WithdrawRequests>(&actions.back());
    if (!others) others = &std::get<WithdrawRequests>(actions.emplace_back(WithdrawRequests{}));
    others->attempts.push_back(attempt.id);
    return;
  }
  WatchStop(attempt, time + grace + kLeaveLimit);
  actions.push_back(Tell(attempt.id));
  if (!attempt.endpoint && !attempt.renewed) actions.push_back(StopContainer{attempt.container, StopMode::kTerm});
}

void Job::Hurry(Attempt& attempt, Duration grace, Instant time, Actions& actions) {
  if (grace >= attempt.stop_grace || attempt.container.value.empty()) return;
  attempt.stop_grace = grace;
  ++attempt.stops;
  WatchStop(attempt, std::min(attempt.stop_by, time + grace + kLeaveLimit));
  actions.push_back(Tell(attempt.id));
}

void Job::WatchStop(Attempt& attempt, Instant stop_by) {
  stopping_.erase({attempt.stop_by, attempt.container});
  attempt.stop_by = stop_by;
  if (containers_.at(attempt.container).state == ContainerState::kHeld) stopping_.emplace(stop_by, attempt.container);
}

// Its executor no longer owes anything by a certain time.
void Job::StopWatching(const ContainerId& id) {
  const Container& container = containers_.at(id);
  stopping_.erase({Find(container.attempt)->stop_by, id});
  leaving_.erase({container.leave_by, id});
}

// Its executor is told to leave, unless it is on its way or being killed.
void Job::LetGo(const Attempt& attempt, Instant leave_by, Actions& actions) {
  if (attempt.container.value.empty()) return;
  Container& container = containers_.at(attempt.container);
  actions.push_back(Tell(attempt.id));
  if (container.state != ContainerState::kHeld || leaving_.contains({container.leave_by, attempt.container})) return;
  container.leave_by = leave_by;
  leaving_.emplace(leave_by, attempt.container);
}

void Job::GiveUp(Attempt& attempt, Instant time) {
  // One that was told to stop may have been heard a moment ago: if it is cut off, it needs its time to stop itself.
  const bool was_silent = attempt.state != AttemptState::kStopping;
  attempt.give_up_at = time + (was_silent ? kConfirmLimit : std::max(kConfirmLimit, spec_.timers.lost_after));
  silent_.emplace(attempt.give_up_at, attempt.id);
}

// It lives, and may do so until it finds that it is cut off. What should end it may not even have been told: nothing is
// while the journal is stuck.
void Job::GiveUpLater(Attempt& attempt, Instant heard) {
  silent_.erase({attempt.give_up_at, attempt.id});
  attempt.give_up_at = std::max(attempt.give_up_at, heard + std::max(kConfirmLimit, spec_.timers.lost_after));
  silent_.emplace(attempt.give_up_at, attempt.id);
}

// It cannot be known to be dead before its container is.
void Job::AwaitGone(Restart& restart, const Attempt& ended, Instant time) {
  if (ended.container.value.empty() || containers_.at(ended.container).state == ContainerState::kGone) return;
  if (ended.give_up_at != Instant{} && time >= ended.give_up_at) return;  // that has been waited for
  restart.unconfirmed.insert(ended.container);
  restart.confirm_by = std::max(restart.confirm_by, time + kConfirmLimit);
}

}  // namespace tony::am
