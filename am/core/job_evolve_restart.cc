// What follows from the decisions about restarts.
#include <algorithm>
#include <utility>

#include "am/core/evolve_parts.h"
#include "am/core/job.h"
#include "runtime/base/check.h"
#include "runtime/base/strings.h"

namespace tony::am {
namespace {

constexpr size_t kShown = 20;  // restarts in a status

}  // namespace

Result<Actions> Job::Apply(const RestartDecided& d, Instant time) {
  if (d.number != static_cast<int>(past_restarts_.size()) + 1 || d.tasks.empty() || !Find(d.cause))
    return Misfit(StrCat("restart ", d.number));
  const bool of_gang = d.scope == RestartScope::kGang || d.scope == RestartScope::kJob;
  if (of_gang) {
    TRY(Step(JobStep::kRestart));
    openings_.clear();  // they are of the gang now
  }
  for (const TaskId& id : d.tasks) {
    if (of_gang) beside_.erase(id);
  }
  Restart& restart = restarts_[d.number];
  restart = {.number = d.number, .scope = d.scope, .cause = d.cause, .not_before = d.not_before};
  const Duration hold = spec_.LongestHold();
  const bool gives_back = !Find(d.cause)->outcome;
  restart.keeps = d.scope != RestartScope::kJob && !gives_back && (hold == Duration(0) || d.not_before - time <= hold);
  Actions actions;
  for (const TaskId& id : d.tasks) TRY(TakeOver(restart, id, d.grace, time, actions));
  std::erase_if(restarts_, [](const auto& entry) { return entry.second.tasks.empty(); });
  Note(d, time);
  return actions;
}

void Job::Note(const RestartDecided& d, Instant time) {
  const bool has_failed = Find(d.cause)->outcome.has_value();
  past_restarts_.push_back({time, d.scope, d.cause.task, d.charged, /*gives_back=*/!has_failed});
  restart_list_.push_back({d.number, time, std::string(ToString(d.scope)), d.cause, d.reason, d.charged});
  if (restart_list_.size() > kShown) restart_list_.erase(restart_list_.begin());
}

Status Job::TakeOver(Restart& restart, const TaskId& id, Duration grace, Instant time, Actions& actions) {
  const auto found = tasks_.find(id);
  if (found == tasks_.end() || found->second.attempts.empty()) return Misfit(ToString(id));
  Task& task = found->second;
  Attempt& attempt = *task.newest();
  if (Restart* earlier = FindRestart(task.restart)) {
    earlier->tasks.erase(id);
    earlier->ending.erase(id);
  }
  if (task.state == TaskState::kDone && attempt.outcome->Succeeded()) --ends_[id.role].succeeded;
  if (std::exchange(attempt.tolerated, false)) {
    --ends_[id.role].failed;
    std::erase(tolerated_, attempt.id);
  }
  finished_.erase(id.role);
  if (attempt.ended) failed_.erase({*attempt.ended, attempt.id});
  TRY(StepTask(id, TaskStep::kRestart));
  task.restart = restart.number;
  restart.tasks.insert(id);
  if (!IsFinal(attempt.state)) {
    restart.ending.insert(id);
    if (attempt.state != AttemptState::kStopping) StopAttempt(attempt, grace, time, actions);
  } else if (IsHeld(attempt)) {
    StopWatching(attempt.container);  // it stays
  } else {
    AwaitGone(restart, attempt, time);
    LetGo(attempt, time + kLeaveLimit, actions);
  }
  return Ok();
}

Result<Actions> Job::Apply(const ListingSought&, Instant time) {
  if (listing_sought_) return Misfit("the checkpoints were listed before");
  listing_sought_ = time;
  return Actions{ListCheckpoints{}};
}

Result<Actions> Job::Apply(const CheckpointsListed& d, Instant) {
  if (!listing_sought_ || listing_) return Misfit("nobody asked for a listing of the checkpoints");
  listing_ = d.listing;
  checkpoint_ = d.listing.newest;
  return Actions{};
}

Result<Actions> Job::Apply(const CheckpointSought& d, Instant time) {
  Restart* restart = FindRestart(d.restart);
  if (!restart) return Misfit(StrCat("restart ", d.restart));
  restart->sought = time;
  return Actions{LookForCheckpoint{d.restart}};
}

// The first look only says where the job stood; every later one, whether the restart before it was of any use.
Result<Actions> Job::Apply(const CheckpointNoted& d, Instant) {
  Restart* restart = FindRestart(d.restart);
  if (!restart || !restart->sought) return Misfit(StrCat("restart ", d.restart));
  restart->noted = true;
  if (!d.known) return Actions{};
  checkpoint_ = d.newest;
  Actions actions;
  for (const auto& [id, task] : tasks_) {
    const Attempt* attempt = task.newest();
    if (attempt && CanRun(*attempt)) actions.push_back(Tell(attempt->id));  // what to resume from
  }
  if (!ConcernsTracked(*restart)) return actions;
  const bool newer = d.newest && (!progress_ || IsNewer(*d.newest, *progress_));
  fruitless_ = looked_ && !newer ? fruitless_ + 1 : 0;
  looked_ = true;
  if (newer) progress_ = d.newest;
  return actions;
}

Result<Actions> Job::Apply(const RestartBegan& d, Instant time) {
  const Restart* restart = FindRestart(d.number);
  if (!restart || !restart->ending.empty() || restart->tasks.size() != d.renewed.size() + d.requested.size())
    return Misfit(StrCat("restart ", d.number));
  if (restart->scope == RestartScope::kGang || restart->scope == RestartScope::kJob) TRY(Step(JobStep::kRequest));
  Actions actions;
  RequestContainers request;
  for (const RenewedAttempt& renewed : d.renewed) TRY(Renew(renewed, time, actions));
  for (const AttemptId& id : d.requested) {
    TRY(Replace(id, time, actions));
    request.asks.push_back(AskFor(id));
  }
  unplaced_since_ = time;
  if (!request.asks.empty()) actions.push_back(std::move(request));
  if (IsFormed(*restart->tasks.begin()) && !IsFcfs()) {
    Joining& joining = joining_[d.number];
    joining.missing = restart->tasks;
    for (const TaskId& id : restart->tasks) joining.attempts.push_back(tasks_.at(id).newest()->id);
    std::erase_if(joining.attempts, [&](const AttemptId& id) { return OpeningOf(*Find(id)) != nullptr; });
    std::erase_if(joining.missing, [&](const TaskId& id) { return OpeningOf(*tasks_.at(id).newest()) != nullptr; });
    if (joining.attempts.empty()) joining_.erase(d.number);
  }
  restarts_.erase(d.number);
  return actions;
}

Status Job::Renew(const RenewedAttempt& renewed, Instant time, Actions& actions) {
  const AttemptId before{renewed.attempt.task, renewed.attempt.number - 1};
  const Attempt* last = Find(before);
  if (!last || last->container != renewed.container || !CanRenew(*last)) return Misfit(ToString(renewed.attempt));
  const std::string host = last->host;
  TRY_ASSIGN(Attempt* const attempt, MakeAttempt(renewed.attempt, AttemptStep::kRenew, time));
  attempt->container = renewed.container;
  attempt->host = host;
  attempt->renewed = true;
  if (Opening* opening = OpeningOf(*attempt)) ++opening->placed;
  containers_.at(renewed.container).attempt = renewed.attempt;
  const Instant check = time + spec_.timers.suspect_after;
  silence_check_ = silence_check_ ? std::min(*silence_check_, check) : check;
  // An executor that has not heard of an attempt yet waits as the one before.
  for (AttemptId id = before; const Attempt* waiting = Find(id); --id.number) {
    if (waiting->container != renewed.container) break;
    actions.push_back(Tell(id));
    if (waiting->endpoint) break;
  }
  return Ok();
}

Status Job::Replace(const AttemptId& id, Instant time, Actions& actions) {
  if (const Attempt* last = Find({id.task, id.number - 1})) LetGo(*last, time + kLeaveLimit, actions);
  TRY(MakeAttempt(id, AttemptStep::kRequest, time));
  unplaced_.insert(id);
  return Ok();
}

// An attempt that joins a running generation has registered, or never will.
void Job::Arrive(const Attempt& attempt, Instant time, Actions& actions) {
  const auto found = joining_.find(attempt.restart);
  if (found == joining_.end()) return;
  Joining& joining = found->second;
  joining.missing.erase(attempt.id.task);
  if (!joining.missing.empty()) return;
  const std::vector<AttemptId> attempts = std::exchange(joining.attempts, {});
  joining_.erase(found);
  const ClusterSpecText cluster = MakeClusterSpec();
  for (const AttemptId& id : attempts) {
    Attempt& joiner = *Find(id);
    if (joiner.state != AttemptState::kRegistered) continue;
    if (StartOrHold(joiner, cluster, time)) actions.push_back(Tell(id));
  }
}

// The job stops: nothing starts again.
void Job::AbandonRestarts(Instant time, Actions& actions) {
  while (!restarts_.empty()) {
    const std::set<TaskId> tasks = restarts_.begin()->second.tasks;
    for (const TaskId& id : tasks) AbandonRestartOf(id, time, actions);
  }
}

void Job::AbandonRestartOf(const TaskId& id, Instant time, Actions& actions) {
  Task& task = tasks_.at(id);
  Restart* restart = FindRestart(std::exchange(task.restart, 0));
  if (!restart) return;
  restart->tasks.erase(id);
  restart->ending.erase(id);
  std::erase_if(restarts_, [](const auto& entry) { return entry.second.tasks.empty(); });
  const bool over = IsFinal(task.newest()->state);
  CHECK(StepTask(id, over ? TaskStep::kGiveUp : TaskStep::kAbandon).ok());
  if (!over) return;
  if (task.newest()->outcome->Succeeded()) ++ends_[id.role].succeeded;
  LetGo(*task.newest(), time + kLeaveLimit, actions);
}

bool Job::ConcernsTracked(const Restart& restart) const {
  return std::ranges::any_of(restart.tasks, [&](const TaskId& id) { return IsTracked(id); });
}

}  // namespace tony::am
