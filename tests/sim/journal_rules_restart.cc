// Rules for the decisions of a restart.
#include <algorithm>

#include "runtime/base/strings.h"
#include "tests/sim/journal_rules.h"

namespace tony::sim {
namespace {

// How long the AM waits for the scheduler's report of a container's end.
constexpr Duration kLongestDoubt{15'000};

bool IsNewer(const Checkpoint& one, const std::optional<Checkpoint>& other) {
  return !other || std::pair(one.modified, one.step) > std::pair(other->modified, other->step);
}

}  // namespace

bool JournalRules::IsRestarting(const TaskId& task) const {
  return std::ranges::any_of(restarts_, [&](const auto& entry) { return entry.second.tasks.contains(task); });
}

bool JournalRules::IsRenewed(const AttemptId& attempt, const ContainerId& container) const {
  const auto found = made_.find(attempt);
  return found != made_.end() && attempt.number > 1 && found->second.container == container;
}

// True if the executor has reported and waits, and neither it nor its container had a failure of its own.
bool JournalRules::CouldGoOn(const AttemptId& ended) const {
  const Made& made = made_.at(ended);
  const Outcome& outcome = outcomes_.at(ended);
  const bool is_infra = outcome.cls == OutcomeClass::kInfra && outcome.source != Source::kSignal;
  const bool trouble = is_infra || outcome.cls == OutcomeClass::kNodeLost || outcome.cls == OutcomeClass::kPreempted;
  if (trouble || !made.reported || made.let_go || made.container.value.empty()) return false;
  if (hold_ && hold_->attempt == ended) return false;
  return containers_.at(made.container) == ended && !gone_.contains(made.container) &&
         !kill_ordered_.contains(made.container);
}

std::set<TaskId> JournalRules::TasksIn(RestartScope scope, const TaskId& cause) const {
  if (scope == RestartScope::kTask) return {cause};
  std::set<TaskId> tasks;
  for (const RoleSpec& role : spec_->roles) {
    if (scope == RestartScope::kRole && role.name != cause.role) continue;
    if (!IsOpen(role.name) || IsSettled(role.name)) continue;
    for (int index = 0; index < role.instances; ++index) {
      const bool lives_on = scope == RestartScope::kGang && apart_.contains({role.name, index});
      if (!lives_on) tasks.insert({role.name, index});
    }
  }
  return tasks;
}

bool JournalRules::ConcernsTracked(const Restart& restart) const {
  return std::ranges::any_of(restart.tasks, [&](const TaskId& task) { return IsTracked(task); });
}

Duration JournalRules::ContainerHoldLimit() const {
  return spec_->scheduler == "yarn" ? spec_->yarn.gang_hold : Duration(0);
}

// Checks a gang that forms, and tasks that are to join a gang together.
bool JournalRules::HoldsInVain(Instant since, Instant time, Duration by) const {
  if (spec_->mode != DistributedMode::kGang || ContainerHoldLimit() == Duration(0) || verdict_) return false;
  if (together_ && joining_.empty()) return false;
  // For tasks that were requested together: some have containers, some lack them.
  std::map<Instant, std::pair<bool, bool>> seen;
  for (const auto& [id, made] : made_) {
    if (outcomes_.contains(id) || stopping_.contains(id) || apart_.contains(id.task)) continue;
    if (together_ && !joining_.contains(id.task)) continue;
    auto& [there, missing] = seen[together_ ? made_.at({id.task, 1}).time : Instant{}];
    (made.container.value.empty() ? missing : there) = true;
  }
  const bool any = std::ranges::any_of(seen, [](const auto& entry) { return entry.second == std::pair(true, true); });
  return any && time - since >= ContainerHoldLimit() + by;
}

void JournalRules::ExpectGivenBack(const RestartDecided& d, Instant time) {
  const auto cause = made_.find(d.cause);
  const bool misses = cause != made_.end() && cause->second.container.value.empty();
  if (!misses || !HoldsInVain(waits_since_, time, -skew_))
    Complain(StrCat("restart ", d.number, " gives back containers for no reason"));
  const RestartScope scope = together_ ? RestartScope::kRole : RestartScope::kJob;
  if (d.scope != scope || d.charged || d.not_before != time)
    Complain(StrCat("restart ", d.number, " gives containers back in another way"));
}

std::set<TaskId> JournalRules::AskedWith(const AttemptId& cause) const {
  std::set<TaskId> tasks;
  for (const TaskId& task : joining_)
    if (made_.at({task, 1}).time == made_.at({cause.task, 1}).time) tasks.insert(task);
  return tasks;
}

void JournalRules::On(const RestartDecided& d, Instant time) {
  if (d.number != static_cast<int>(past_.size()) + 1) Complain(StrCat("restart ", d.number, " is not the next one"));
  const auto due = pending_ ? DueRestart(time) : std::nullopt;
  // the end of a sidecar may need none
  const bool is_answer = pending_ && (due || FailsJob());
  const bool gives_back = !is_answer && !outcomes_.contains(d.cause);
  if (gives_back) {
    ExpectGivenBack(d, time);
  } else if (verdict_ || !due || d.cause != *pending_) {
    Complain(StrCat("restart ", d.number, " for no reason"));
  } else {
    if (d.scope != due->scope)
      Complain(StrCat("restart ", d.number, " of a ", ToString(d.scope), ", not of a ", ToString(due->scope)));
    if (d.charged != due->charged) Complain(StrCat("restart ", d.number, " is charged to the wrong budget"));
    if (d.not_before != time + due->delay) Complain(StrCat("restart ", d.number, " has the wrong back-off"));
  }
  const std::set<TaskId> tasks(d.tasks.begin(), d.tasks.end());
  const bool joined = gives_back && together_;
  if (tasks != (joined ? AskedWith(d.cause) : TasksIn(d.scope, d.cause.task)))
    Complain(StrCat("restart ", d.number, " of the wrong tasks"));
  pending_.reset();
  past_.push_back({time, d.scope, d.cause.task, d.charged, gives_back});
  for (auto& [number, earlier] : restarts_) {
    std::erase_if(earlier.tasks, [&](const TaskId& task) { return tasks.contains(task); });
  }
  std::erase_if(restarts_, [](const auto& entry) { return entry.second.tasks.empty(); });
  const bool in_time = ContainerHoldLimit() == Duration(0) || d.not_before - time <= ContainerHoldLimit();
  const bool keeps = d.scope != RestartScope::kJob && !gives_back && in_time;
  restarts_[d.number] = {
      .scope = d.scope, .cause = d.cause, .not_before = d.not_before, .tasks = tasks, .keeps = keeps};
  NoteHold(d.cause, time);
  const bool forms_anew = d.scope == RestartScope::kGang || d.scope == RestartScope::kJob;
  if (forms_anew) {
    together_ = false;
    joining_.clear();
  }
  for (const TaskId& task : tasks) {
    if (forms_anew) apart_.erase(task);
    finished_.erase(task.role);
    const auto newest = NewestOf(task);
    if (newest && !outcomes_.contains(*newest)) stopping_.insert(*newest);
  }
}

void JournalRules::On(const AttemptStopping& d, Instant) {
  if (outcomes_.contains(d.attempt) || verdict_) Complain(ToString(d.attempt) + " is told to stop after its end");
  stopping_.insert(d.attempt);
  if (const auto made = made_.find(d.attempt); made != made_.end()) made->second.notice = d.grace;
}

Duration JournalRules::LongestGrace(const AttemptId& attempt) const {
  const auto made = made_.find(attempt);
  const Duration notice = made == made_.end() ? Duration(0) : made->second.notice;
  return std::max({spec_->timers.grace, stop_grace_, notice});
}

// True if the scheduler was ordered to end the container, or should have noticed its end, and has not reported for
// kLongestDoubt.
bool JournalRules::IsPresumedGone(const AttemptId& attempt, Instant time) const {
  const Made& made = made_.at(attempt);
  Instant since = *made.ended;
  const auto killed = kill_ordered_.find(made.container);
  if (killed != kill_ordered_.end()) since = std::min(since, killed->second);
  return time - since >= kLongestDoubt - skew_;
}

// Expects that all tasks of the restart have ended, the back-off is over, and none of their processes can still run.
void JournalRules::ExpectReady(const Restart& restart, Instant time, const std::string& what) {
  if (time < restart.not_before) Complain(what + " before its back-off was over");
  for (const TaskId& task : restart.tasks) {
    const auto newest = NewestOf(task);
    if (!newest || !outcomes_.contains(*newest)) {
      Complain(StrCat(what, " before the end of ", ToString(task)));
      continue;
    }
    const Made& made = made_.at(*newest);
    const bool known = made.container.value.empty() || gone_.contains(made.container) ||
                       (restart.keeps && CouldGoOn(*newest)) ||
                       (hold_ && hold_->attempt == *newest);
    if (!known && !IsPresumedGone(*newest, time)) {
      Complain(StrCat(what, " before ", ToString(*newest), " is known to be gone"));
    }
  }
}

// The listing is sought once, before anything of the job has started, so that all later checkpoints are the job's own.
void JournalRules::On(const ListingStarted&, Instant) {
  if (std::exchange(listing_sought_, true) || generation_.value > 0) Complain("a listing that is not needed");
}

void JournalRules::On(const CheckpointsListed& d, Instant) {
  if (!listing_sought_ || std::exchange(listed_, true) || generation_.value > 0)
    Complain("a listing that is not needed");
  listing_known_ = d.listing.unknown.empty();
  first_checkpoint_ = d.listing.newest;
}

void JournalRules::On(const CheckpointSearchStarted& d, Instant time) {
  const auto found = restarts_.find(d.restart);
  if (found == restarts_.end() || std::exchange(found->second.sought, true)) {
    return Complain(StrCat("a look for restart ", d.restart, ", which does not need it"));
  }
  ExpectReady(found->second, time, StrCat("the look of restart ", d.restart));
}

// Restarts of tracked tasks are without progress if `most_fruitless` searches in a row find no newer checkpoint than
// earlier searches did.
void JournalRules::On(const CheckpointNoted& d, Instant) {
  const auto found = restarts_.find(d.restart);
  if (found == restarts_.end() || !found->second.sought || std::exchange(found->second.noted, true)) {
    return Complain(StrCat("a checkpoint for restart ", d.restart, ", which does not need it"));
  }
  if (!d.known) return;
  if (d.newest) checkpoints_.push_back(d.newest->path);
  if (!ConcernsTracked(found->second)) return;
  const bool newer = d.newest && IsNewer(*d.newest, progress_);
  fruitless_ = looked_ && !newer ? fruitless_ + 1 : 0;
  looked_ = true;
  if (newer) progress_ = d.newest;
  if (fruitless_ < spec_->checkpoint.most_fruitless) return;
  // All restarts that have searched and wait are without progress. The searches may have ended in any order.
  const auto first = std::ranges::find_if(
      restarts_, [this](const auto& entry) { return entry.second.noted && ConcernsTracked(entry.second); });
  fruitless_cause_ = first->second.cause;
}

void JournalRules::On(const RestartBegan& d, Instant time) {
  const std::string what = StrCat("restart ", d.number);
  const auto found = restarts_.find(d.number);
  if (found == restarts_.end()) return Complain(what + " began and was not decided");
  const Restart restart = found->second;
  ExpectReady(restart, time, what);
  // before the first generation nothing has run
  const bool looks = !spec_->checkpoint.directory.empty() && generation_.value > 0;
  if (looks && !restart.noted) Complain(what + " did not look for a checkpoint");
  std::set<TaskId> tasks;
  waits_since_ = time;
  restarts_.erase(found);
  for (const RenewedAttempt& renewed : d.renewed) {
    const auto last = NewestOf(renewed.attempt.task);
    const bool can = last && restart.keeps && outcomes_.contains(*last) && CouldGoOn(*last);
    if (!can || made_.at(*last).container != renewed.container) {
      Complain(StrCat(what, ": ", ToString(renewed.attempt), " cannot go on in ", renewed.container.value));
    }
    tasks.insert(renewed.attempt.task);
    Make(renewed.attempt, time);
    made_[renewed.attempt].container = renewed.container;
    made_[renewed.attempt].placed = time;
    containers_[renewed.container] = renewed.attempt;
  }
  for (const AttemptId& attempt : d.requested) {
    const auto last = NewestOf(attempt.task);
    const bool could = last && restart.keeps && outcomes_.contains(*last) && CouldGoOn(*last);
    if (could) Complain(StrCat(what, ": ", ToString(attempt), " gets a new container for no reason"));
    tasks.insert(attempt.task);
    Make(attempt, time);
  }
  if (tasks != restart.tasks) Complain(what + " began with other tasks than decided");
}

}  // namespace tony::sim
