// The invariants of a job after each step: between the members of each class, and between the classes.
#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "am/core/job.h"
#include "runtime/base/check.h"
#include "runtime/framework/framework.h"
#include "runtime/job/cluster_spec.h"

namespace tony::am {
namespace {

// Returns true if the limit may still be met.
bool Applies(Limit limit, const Attempt& attempt, const Containers& containers) {
  switch (limit) {
    case Limit::kAllocate:
      return attempt.state == AttemptState::kRequested;
    case Limit::kRegister:
      return attempt.state == AttemptState::kAllocated || attempt.state == AttemptState::kLaunching;
    case Limit::kPublish:
      return attempt.state == AttemptState::kRegistered || attempt.state == AttemptState::kRunning;
    case Limit::kGiveUp:
      return !IsFinal(attempt.state) && containers.at(attempt.container).state == ContainerState::kKilling;
  }
  CHECK(false);
}

}  // namespace

void Job::CheckInvariants() const {
  tasks_.CheckInvariants(spec_);
  containers_.CheckInvariants(tasks_);
  deadlines_.CheckInvariants(tasks_, containers_);
  late_roles_.CheckInvariants(spec_, tasks_);
  stages_.CheckInvariants(spec_, tasks_);
  restarts_.CheckInvariants(spec_, tasks_);
  checkpoints_.CheckInvariants();
  results_.CheckInvariants(spec_, tasks_);
  ownership_.CheckInvariants();
  CheckState();
  for (const auto& [id, task] : tasks_.all())
    if (task.newest()) CheckNewest(*task.newest());
}

void Job::CheckState() const {
  using enum JobState;
  CHECK(epoch_.value == 0 || accepted_at_);
  CHECK(state_ != kRunning || generation_.value > 0);
  CHECK(state_ != kAccepted || containers_.all().empty());
  CHECK(verdict_.has_value() == (state_ == kStopping || Ended()));
  CHECK(ended_at_.has_value() == Ended());
  CHECK(!Ended() || containers_.left() == 0);
  CHECK((state_ == kSucceeded) == (Ended() && verdict_->state == FinalState::kSucceeded));
  CHECK((state_ == kKilled) == (Ended() && verdict_->state == FinalState::kKilled));
  CHECK(!verdict_ || restarts_.open().empty());
  const bool restarts_gang =
      std::ranges::any_of(restarts_.open(), [](const auto& open) { return open.second.IsOfGang(); });
  CHECK(restarts_gang == (state_ == kRestarting));
  CHECK(epoch_.value == 0 || !containers_.NextWithdrawn());
}

void Job::CheckNewest(const Attempt& attempt) const {
  using enum AttemptState;
  const bool has_ended = IsFinal(attempt.state);
  const bool waits = attempt.state == kRegistered && attempt.generation.value == 0;
  CHECK(attempt.generation <= generation_);
  CHECK(!verdict_ || has_ended || attempt.state == kStopping);
  // An attempt whose container has ended has no command except its release.
  const Container* container = containers_.Find(attempt.container);
  const bool has_left = has_ended && container && container->state == ContainerState::kGone;
  CHECK(!has_left || CommandFor(attempt.id).kind == Command::Kind::kRelease);
  // A limit is set if and only if it can still be met.
  CHECK(deadlines_.IsSet(Limit::kAllocate, attempt) ==
        (attempt.state == kRequested && spec_.allocation_timeout.count() > 0));
  const bool is_to_publish = (attempt.state == kRegistered || attempt.state == kRunning) && !waits;
  CHECK(deadlines_.IsSet(Limit::kPublish, attempt) == (is_to_publish && !HasPublished(spec_, attempt)));
  CHECK(deadlines_.IsSet(Limit::kGiveUp, attempt) == (!has_ended && attempt.give_up_at != Instant{}));
  // While the job runs, a registered attempt runs, or waits for something that can still happen.
  CHECK(!waits || state_ != JobState::kRunning || late_roles_.Find(attempt) || restarts_.IsJoining(attempt) ||
        stages_.IsHeld(spec_, attempt.id));
}

void Tasks::CheckInvariants(const JobSpec& spec) const {
  std::array<int, static_cast<size_t>(AttemptState::kLost) + 1> counts{};
  std::map<std::string, int> done;
  for (const auto& [id, task] : tasks_) {
    CheckTask(id, task);
    done[id.role] += task.state == TaskState::kDone;
    if (task.newest()) ++counts[static_cast<size_t>(task.newest()->state)];
    if (spec.FindRole(id.role)->outlives_restarts) continue;
    CHECK(!persistent_.contains(id));
  }
  CHECK(counts_ == counts);
  for (const auto& [name, role] : by_role_) {
    CHECK(role.done == done[name]);
    CHECK(role.done == 0 || role.last_end != Instant{});
    CHECK(role.last_end == Instant{} || role.last_begin != Instant{});
  }
  for (const TaskId& id : persistent_) CHECK(tasks_.at(id).newest() != nullptr);
}

void Tasks::CheckTask(const TaskId& id, const Task& task) {
  CHECK((task.state == TaskState::kWaiting) == task.attempts.empty());
  CHECK((task.state == TaskState::kBackoff) == (task.restart != 0));
  for (size_t i = 0; i < task.attempts.size(); ++i) {
    const Attempt& attempt = task.attempts[i];
    const bool is_newest = i + 1 == task.attempts.size();
    CHECK(attempt.id == (AttemptId{id, static_cast<int>(i) + 1}));
    CHECK(is_newest || IsFinal(attempt.state));
    CHECK(is_newest || !attempt.tolerated);
    CHECK(!attempt.renewed || (i > 0 && task.attempts[i - 1].container == attempt.container));
    CHECK(!attempt.renewed || task.attempts[i - 1].reported);
    CHECK(i == 0 || attempt.restart > 0);
    CheckAttempt(attempt);
  }
  if (task.state == TaskState::kActive) CHECK(!IsFinal(task.newest()->state));
  if (task.state == TaskState::kDone) CHECK(IsFinal(task.newest()->state));
}

void Tasks::CheckAttempt(const Attempt& attempt) {
  using enum AttemptState;
  const bool has_ended = IsFinal(attempt.state);
  const bool was_told_to_run = attempt.generation.value > 0;
  CHECK(attempt.state != kNew);
  CHECK(attempt.outcome.has_value() == has_ended);
  CHECK(attempt.ended.has_value() == has_ended);
  CHECK(attempt.state != kSucceeded || attempt.outcome->Succeeded());
  CHECK(attempt.pid == 0 || attempt.started);
  CHECK(attempt.pid == 0 || !has_ended);
  CHECK(attempt.state != kRunning || attempt.started);
  CHECK(!attempt.started || was_told_to_run);
  CHECK(!was_told_to_run || attempt.endpoint);
  CHECK(was_told_to_run == (attempt.cluster_spec != nullptr));
  CHECK(attempt.values.empty() || was_told_to_run);
  CHECK(!attempt.endpoint || !attempt.container.value.empty());
  CHECK(attempt.state != kRequested || attempt.container.value.empty());
  if (attempt.state == kAllocated || attempt.state == kLaunching) CHECK(!attempt.container.value.empty());
  if (attempt.state == kRegistered || attempt.state == kRunning) CHECK(attempt.endpoint);
  CHECK(attempt.state != kStopping || attempt.stops > 0);
  CHECK(attempt.stops == 0 || attempt.state == kStopping || has_ended);
  CHECK(!attempt.because || attempt.stops > 0);
  CHECK(!attempt.suspect || attempt.endpoint || attempt.renewed);
  CHECK(!attempt.suspect || !has_ended);
  CHECK(!attempt.reported || has_ended);
  CHECK(!attempt.tolerated || !attempt.outcome->Succeeded());
}

void Containers::CheckInvariants(const Tasks& tasks) const {
  int left = 0;
  for (const auto& [id, container] : containers_) {
    const Attempt* attempt = tasks.Find(container.attempt);
    CHECK(attempt != nullptr);
    CHECK(attempt->container == id);
    CHECK(container.state != ContainerState::kGone || IsFinal(attempt->state));
    CHECK(container.leave_by == Instant{} || IsFinal(attempt->state));
    left += container.state != ContainerState::kGone;
  }
  CHECK(left_ == left);
  size_t unplaced = 0;
  for (const auto& [id, task] : tasks.all()) {
    for (const Attempt& attempt : task.attempts)
      CHECK(attempt.container.value.empty() || containers_.contains(attempt.container));
    const Attempt* newest = task.newest();
    if (!newest || IsFinal(newest->state)) continue;
    const bool is_placed = !newest->container.value.empty();
    unplaced += !is_placed;
    CHECK(is_placed != unplaced_.contains(newest->id));
    CHECK(!is_placed || containers_.at(newest->container).attempt == newest->id);
  }
  CHECK(unplaced_.size() == unplaced);
  for (const AttemptId& id : withdrawn_) {
    CHECK(unplaced_.contains(id));
    CHECK(tasks.Find(id)->state == AttemptState::kStopping);
  }
  for (const ContainerId& id : preempted_) CHECK(containers_.contains(id));
}

void Deadlines::CheckInvariants(const Tasks& tasks, const Containers& containers) const {
  using enum AttemptState;
  for (const Limit limit : {Limit::kAllocate, Limit::kRegister, Limit::kPublish, Limit::kGiveUp}) {
    for (const auto& [due, id] : all(limit)) {
      const Attempt* attempt = tasks.Find(id);
      CHECK(attempt == tasks.at(id.task).newest());
      CHECK(TimeOf(limit, *attempt) == due);
      CHECK(Applies(limit, *attempt, containers));
    }
  }
  for (const auto& [due, id] : all(ContainerLimit::kStop)) {
    const Attempt* attempt = tasks.Find(containers.at(id).attempt);
    CHECK(attempt->stop_by == due);
    CHECK(attempt->state == kStopping);
    CHECK(containers.IsHeld(id));
  }
  for (const auto& [due, id] : all(ContainerLimit::kLeave)) {
    CHECK(containers.at(id).leave_by == due);
    CHECK(containers.IsHeld(id));
  }
  // Each executor that has not registered has a registration limit. Each attempt that is being stopped in a held
  // container has a stop limit.
  CHECK(all(Limit::kRegister).size() == static_cast<size_t>(tasks.Count(kAllocated) + tasks.Count(kLaunching)));
  size_t stopping = 0;
  for (const auto& [id, container] : containers.all())
    stopping += container.state == ContainerState::kHeld && tasks.Find(container.attempt)->state == kStopping;
  CHECK(all(ContainerLimit::kStop).size() == stopping);
}

void LateRoles::CheckInvariants(const JobSpec& spec, const Tasks& tasks) const {
  for (const auto& [role, first] : unopened_) CHECK(first == 0 || spec.FindRole(role)->max_parallel > 0);
  for (const auto& [id, task] : tasks.all()) {
    const auto unopened = unopened_.find(id.role);
    CHECK(task.attempts.empty() == (unopened != unopened_.end() && id.index >= unopened->second));
    CHECK(!task.newest() || task.newest()->opening <= newest_);
  }
  for (const auto& [number, opening] : openings_) {
    CHECK(number <= newest_);
    CHECK(!opening.missing.empty());
    for (const TaskId& id : opening.tasks) {
      const Attempt& attempt = *tasks.at(id).newest();
      CHECK(attempt.opening == number);
      CHECK(attempt.generation.value == 0);
      const bool is_there = attempt.endpoint && !IsFinal(attempt.state);
      CHECK(is_there || attempt.state == AttemptState::kStopping || opening.missing.contains(id));
    }
  }
}

void Stages::CheckInvariants(const JobSpec& spec, const Tasks& tasks) const {
  for (const auto& [stage, id] : held_) {
    CHECK(stage == StageOf(spec, id.task.role));
    CHECK(tasks.at(id.task).newest() == tasks.Find(id));
    CHECK(tasks.Find(id)->state == AttemptState::kRegistered);
    CHECK(tasks.Find(id)->generation.value == 0);
  }
  for (const auto& [stage, id] : unpublished_) {
    CHECK(stage == StageOf(spec, id.role));
    CHECK(!HasPublished(spec, *tasks.at(id).newest()));
  }
}

void Restarts::CheckInvariants(const JobSpec& spec, const Tasks& tasks) const {
  for (const auto& [number, restart] : open_) {
    CHECK(number == restart.number);
    CHECK(number < next_number());
    CHECK(!restart.tasks.empty());
    CHECK(std::ranges::includes(restart.tasks, restart.ending));
    CHECK(!restart.noted || restart.sought);
    CHECK(!restart.sought || restart.ending.empty());
    CHECK(restart.unconfirmed.empty() || restart.confirm_by != Instant{});
    for (const TaskId& id : restart.tasks) {
      CHECK(tasks.at(id).restart == number);
      CHECK(restart.ending.contains(id) != IsFinal(tasks.at(id).newest()->state));
    }
  }
  for (const auto& [id, task] : tasks.all()) {
    if (task.restart == 0) continue;
    const Restart* restart = Find(task.restart);
    CHECK(restart != nullptr);
    CHECK(restart->tasks.contains(id));
  }
  for (const auto& [number, joining] : joining_) {
    CHECK(!open_.contains(number));
    CHECK(!joining.missing.empty());
    CHECK(joining.missing.size() <= joining.attempts.size());
    for (const AttemptId& id : joining.attempts) {
      CHECK(tasks.Find(id)->restart == number);
      CHECK(tasks.Find(id)->generation.value == 0);
    }
  }
  CHECK(shown_.size() == std::min<size_t>(past_.size(), kShown));
  CHECK(shown_.empty() || shown_.back().number == static_cast<int>(past_.size()));
  CheckBudgets(spec);
}

// Checks only budgets without a window. A budget with a window limits the restarts in the time before an attempt's end,
// and this function does not know when that attempt ended.
void Restarts::CheckBudgets(const JobSpec& spec) const {
  int free = 0;
  std::array<int, static_cast<size_t>(RestartScope::kJob) + 1> charged{};
  for (const PastRestart& restart : past_) {
    CHECK(!restart.gives_back || !restart.charged);
    free += !restart.charged && !restart.gives_back;
    charged[static_cast<size_t>(restart.scope)] += restart.charged;
  }
  CHECK(spec.restart.lost.window != Duration(0) || free <= spec.restart.lost.most);
  const bool have_own = std::ranges::any_of(spec.roles, [](const RoleSpec& role) { return role.restarts.has_value(); });
  for (const RestartScope scope : {RestartScope::kGang, RestartScope::kJob}) {
    const RestartBudget& budget = spec.restart.levels[static_cast<size_t>(scope)];
    CHECK(have_own || budget.window != Duration(0) || charged[static_cast<size_t>(scope)] <= budget.most);
  }
}

void Checkpoints::CheckInvariants() const {
  CHECK(!listing_ || listing_sought_);
  CHECK(without_progress_ == 0 || compared_);
  CHECK(!progress_ || compared_);
}

void Results::CheckInvariants(const JobSpec& spec, const Tasks& tasks) const {
  std::map<std::string, RoleEnds> counted;
  for (const auto& [id, task] : tasks.all()) {
    const Attempt* newest = task.newest();
    if (task.state != TaskState::kDone) CHECK(!newest || !newest->tolerated);
    counted[id.role].succeeded += task.state == TaskState::kDone && newest->outcome->Succeeded();
    counted[id.role].failed += newest && newest->tolerated;
  }
  size_t tolerated = 0;
  for (const RoleSpec& role : spec.roles) {
    const RoleEnds ends = EndsOf(ends_, role);
    CHECK(ends.succeeded == counted[role.name].succeeded);
    CHECK(ends.failed == counted[role.name].failed);
    CHECK(ends.succeeded + ends.failed <= role.instances);
    CHECK(!IsFinished(role.name) || HasEnough(role, ends));
    CHECK(!left_.contains(role.name) || !role.outlives.empty());
    tolerated += static_cast<size_t>(ends.failed);
  }
  CHECK(tolerated_.size() == tolerated);
  for (const AttemptId& id : tolerated_) CHECK(tasks.Find(id)->tolerated);
  for (const auto& [ended, id] : unjudged_) {
    const Attempt* attempt = tasks.Find(id);
    CHECK(tasks.at(id.task).newest() == attempt);
    CHECK(tasks.at(id.task).state == TaskState::kDone);
    CHECK(attempt->ended == ended);
    CHECK(!attempt->tolerated);
    CHECK(spec.FindRole(id.task.role)->CountsFailures());
  }
  if (newest_end_) CHECK(IsFinal(tasks.Find(*newest_end_)->state));
}

void Ownership::CheckInvariants() const {
  CHECK(claimed_ || claim_ == Claim());
  for (const auto& [number, plan] : plans_) {
    CHECK(number <= newest_plan_);
    CHECK(Holds(plan, claim_.owner, watcher_));
    for (const auto& [other, later] : plans_)
      CHECK(other <= number || plan.if_owner != later.if_owner || plan.if_watcher != later.if_watcher);
  }
}

}  // namespace tony::am
