// The policy of restarts: what to make of an attempt's end, and when what was decided begins.
#include <algorithm>

#include "am/core/completion_policy.h"
#include "am/core/job.h"
#include "runtime/base/seconds.h"
#include "runtime/base/strings.h"

namespace tony::am {
namespace {

// A file system that does not answer for so long does not answer.
constexpr Duration kLookLimit{60'000};

std::string Times(int count) { return count == 1 ? "1 restart" : StrCat(count, " restarts"); }

}  // namespace

std::optional<DecisionBody> Job::JudgeEndOf(const AttemptId& id, Instant now) const {
  const Task& task = tasks_.at(id.task);
  // Whatever ends while its task is being restarted has been judged.
  if (task.state != TaskState::kDone || task.newest()->id != id) return std::nullopt;
  const Attempt& attempt = *task.newest();
  if (attempt.tolerated || finished_.contains(id.task.role)) return std::nullopt;
  Outcome outcome = *attempt.outcome;
  outcome.message += ProbableCause(attempt);
  if (EndsItself(attempt)) outcome.cls = OutcomeClass::kUserError;
  const EndedTask ended{attempt.id, attempt.host, &outcome};
  // Before the gang has formed nobody of it can be missing, not even a sidecar.
  if (!HasFormed(attempt)) {
    Verdict early = JudgeEarlyEnd(ended);
    outcome.cls = early.cls;
    return RestartOrStop(ended, std::move(early), now);
  }
  if (outcome.Succeeded()) return std::nullopt;
  const bool counts = spec_.FindRole(id.task.role)->CountsFailures();
  return RestartOrStop(ended, counts ? VerdictOn(ended) : std::nullopt, now);
}

// No verdict: the job goes on without it.
std::optional<DecisionBody> Job::RestartOrStop(const EndedTask& ended, std::optional<Verdict> verdict,
                                               Instant now) const {
  const FailedTask failed{ended, HasFormed(*Find(ended.attempt)), CanRenew(*Find(ended.attempt))};
  const auto judged = PlanRestart(spec_, failed, past_restarts_, now);
  if (const auto* plan = std::get_if<RestartPlan>(&judged)) return Decide(*plan, ended, now);
  if (!verdict) {
    if (!failed_.contains({*Find(ended.attempt)->ended, ended.attempt})) return std::nullopt;
    return FailureTolerated{ended.attempt, DescribeFailure(ended)};
  }
  if (const std::string& why = std::get<NoRestart>(judged).why; !why.empty()) {
    verdict->message += StrCat("; ", why);
  } else if (!past_restarts_.empty()) {
    verdict->message += StrCat("; after ", Times(static_cast<int>(past_restarts_.size())));
  }
  return JobStopping{*std::move(verdict), spec_.timers.grace};
}

RestartDecided Job::Decide(const RestartPlan& plan, const EndedTask& cause, Instant now) const {
  return {.number = static_cast<int>(past_restarts_.size()) + 1,
          .scope = plan.scope,
          .cause = cause.attempt,
          .reason = DescribeFailure(cause),
          .charged = plan.charged,
          .tasks = TasksIn(plan.scope, cause.attempt.task),
          .not_before = now + plan.delay,
          .grace = spec_.timers.grace};
}

std::vector<TaskId> Job::TasksIn(RestartScope scope, const TaskId& cause) const {
  if (scope == RestartScope::kTask) return {cause};
  std::vector<TaskId> tasks;
  for (const auto& [id, task] : tasks_) {
    const bool may_run = task.newest() && !IsSettled(id.role);
    if (!may_run || (scope == RestartScope::kRole && id.role != cause.role)) continue;
    if (scope == RestartScope::kGang && beside_.contains(id)) continue;
    tasks.push_back(id);
  }
  return tasks;
}

std::optional<DecisionBody> Job::NextOfRestarts(Instant now) const {
  for (const auto& [number, restart] : restarts_) {
    if (auto next = NextOf(restart, now)) return next;
  }
  return std::nullopt;
}

std::optional<DecisionBody> Job::NextOf(const Restart& restart, Instant now) const {
  if (!restart.ending.empty()) return std::nullopt;
  // At once, also where the clock of this machine is behind that of the AM before, by which the restart was due.
  if (restart.noted && ConcernsTracked(restart) && fruitless_ >= spec_.checkpoint.most_fruitless)
    return JobStopping{Fruitless(restart), spec_.timers.grace};
  if (now < restart.not_before) return std::nullopt;
  if (!restart.unconfirmed.empty() && (ends_are_confirmed_ || now < restart.confirm_by)) return std::nullopt;
  const bool may_resume = !spec_.checkpoint.directory.empty() && generation_.value > 0;  // else nothing has run yet
  if (may_resume && !restart.noted) {
    if (!restart.sought) return CheckpointSought{restart.number};
    if (now >= *restart.sought + kLookLimit) return CheckpointNoted{restart.number, std::nullopt, /*known=*/false};
    return std::nullopt;
  }
  return Begin(restart);
}

// What is there is listed as late as possible: what comes later counts as the job's own.
std::optional<DecisionBody> Job::NextOfListing(Instant now) const {
  if (listing_sought_) {
    if (now < *listing_sought_ + kLookLimit) return std::nullopt;
    const std::string why = StrCat("it did not answer within ", kLookLimit.count() / 1000, " s");
    return CheckpointsListed{{.folder = spec_.checkpoint.directory, .unknown = why}};
  }
  const int registered = Count(AttemptState::kRegistered);
  if (registered == 0 || (!IsFcfs() && registered < GangSize())) return std::nullopt;
  return ListingSought{};
}

std::optional<Instant> Job::ListingDue() const {
  if (!AwaitsListing() || state_ != JobState::kGathering) return std::nullopt;
  return *listing_sought_ + kLookLimit;
}

std::optional<Instant> Job::NextRestart() const {
  std::optional<Instant> next;
  for (const auto& [number, restart] : restarts_) {
    if (!restart.ending.empty() || (ends_are_confirmed_ && !restart.unconfirmed.empty())) continue;
    Instant due = restart.not_before;
    if (!restart.unconfirmed.empty()) due = std::max(due, restart.confirm_by);
    if (restart.sought && !restart.noted) due = *restart.sought + kLookLimit;
    next = next ? std::min(*next, due) : due;
  }
  return next;
}

// While the rest of a gang waits for containers, those that it has do nothing, and another gang may wait for these in
// the same way. All are asked for together then, which the scheduler knows to settle.
std::optional<Instant> Job::GivesBackAt() const {
  using enum AttemptState;
  const Duration hold = spec_.LongestHold();
  const bool gathers = state_ == JobState::kAllocating || state_ == JobState::kGathering;
  const int placed = CountInGang(kAllocated) + CountInGang(kLaunching) + CountInGang(kRegistered);
  if (IsFcfs() || hold == Duration(0)) return std::nullopt;
  if (!(gathers && placed > 0 && !HasPlaces()) && !HeldInVain()) return std::nullopt;
  return unplaced_since_ + hold;
}

const Job::Opening* Job::HeldInVain() const {
  if (state_ != JobState::kRunning) return nullptr;
  for (const auto& [number, opening] : openings_)
    if (opening.placed > 0 && opening.unplaced > 0) return &opening;
  return nullptr;
}

// Of a gang everything is asked for anew; of what joins one that runs, that alone.
RestartDecided Job::GiveBack(Instant now) const {
  std::vector<TaskId> tasks;
  const Opening* opening = HeldInVain();
  if (opening) {
    tasks.assign(opening->tasks.begin(), opening->tasks.end());
  } else {
    tasks = TasksIn(RestartScope::kJob, {});
  }
  std::vector<AttemptId> missing;
  for (const TaskId& id : tasks) {
    const AttemptId& newest = tasks_.at(id).newest()->id;
    if (unplaced_.contains(newest) && !beside_.contains(id)) missing.push_back(newest);
  }
  const std::string others = missing.size() == 1 ? "" : StrCat(" and ", missing.size() - 1, " more");
  return {
      .number = static_cast<int>(past_restarts_.size()) + 1,
      .scope = opening ? RestartScope::kRole : RestartScope::kJob,
      .cause = missing.front(),
      .reason = StrCat(ToString(missing.front().task), others, " got no container for ", Seconds(spec_.LongestHold()),
                       " (tony.yarn.gang-hold); the others give theirs back, and all are asked for again"),
      .charged = false,
      .tasks = std::move(tasks),
      .not_before = now,
      .grace = spec_.timers.grace};
}

RestartBegan Job::Begin(const Restart& restart) const {
  RestartBegan began{.number = restart.number};
  for (const TaskId& id : restart.tasks) {
    const Attempt& last = *tasks_.at(id).newest();
    const AttemptId next{id, last.id.number + 1};
    if (IsHeld(last)) {
      began.renewed.push_back({next, last.container});
    } else {
      began.requested.push_back(next);
    }
  }
  return began;
}

Verdict Job::Fruitless(const Restart& restart) const {
  const Attempt& cause = *Find(restart.cause);
  const EndedTask ended{cause.id, cause.host, &*cause.outcome};
  Verdict verdict = FailedBy(ended);
  const std::string newest =
      checkpoint_ ? StrCat("than ", checkpoint_->path) : StrCat("in ", spec_.checkpoint.directory);
  verdict.message += StrCat("; ", Times(fruitless_), " without a newer checkpoint ", newest);
  return verdict;
}

}  // namespace tony::am
