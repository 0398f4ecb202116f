// Restarts and checkpoints: their state, and Job's policy and state changes for them. Budgets are counted in
// restart_policy.cc.
#include "am/core/restarts.h"

#include <algorithm>
#include <utility>

#include "am/core/job.h"
#include "runtime/base/check.h"
#include "runtime/base/strings.h"
#include "runtime/base/time.h"

namespace tony::am {
namespace {

// A checkpoint directory that does not answer within this time counts as unreachable.
constexpr Duration kLookLimit{60'000};

std::string Times(int count) { return count == 1 ? "1 restart" : StrCat(count, " restarts"); }

}  // namespace

Restart* Restarts::Find(int number) { return const_cast<Restart*>(std::as_const(*this).Find(number)); }

const Restart* Restarts::Find(int number) const {
  const auto found = open_.find(number);
  return found == open_.end() ? nullptr : &found->second;
}

void Restarts::Drop(const Task& task, const TaskId& id) {
  Restart* restart = Find(task.restart);
  if (!restart) return;
  restart->tasks.erase(id);
  restart->ending.erase(id);
}

void Restarts::Prune() {
  std::erase_if(open_, [](const auto& entry) { return entry.second.tasks.empty(); });
}

void Restarts::Note(const RestartDecided& d, bool gives_back, Instant time) {
  past_.push_back({time, d.scope, d.cause.task, d.charged, gives_back});
  shown_.push_back({d.number, time, std::string(ToString(d.scope)), d.cause, d.reason, d.charged});
  if (shown_.size() > kShown) shown_.erase(shown_.begin());
}

void Restarts::ContainerGone(const ContainerId& id) {
  for (auto& [number, restart] : open_) restart.unconfirmed.erase(id);
}

void Restarts::Join(int number, std::vector<AttemptId> attempts) {
  if (attempts.empty()) return;
  Joining& joining = joining_[number];
  for (const AttemptId& id : attempts) joining.missing.insert(id.task);
  joining.attempts = std::move(attempts);
}

// Returns all attempts of a restart once the last of them has registered, or has ended without registering.
std::vector<AttemptId> Restarts::Arrive(const Attempt& attempt) {
  const auto found = joining_.find(attempt.restart);
  if (found == joining_.end()) return {};
  found->second.missing.erase(attempt.id.task);
  if (!found->second.missing.empty()) return {};
  return std::move(joining_.extract(found).mapped().attempts);
}

const CheckpointListing& Checkpoints::listing() const {
  static const CheckpointListing kNone{.unknown = "this job was started by a release that does not list checkpoints"};
  return listing_ ? *listing_ : kNone;
}

void Checkpoints::SetListing(const CheckpointListing& listing) {
  listing_ = listing;
  newest_ = listing.newest;
}

void Checkpoints::Compare(const std::optional<Checkpoint>& newest) {
  const bool is_newer = newest && (!progress_ || IsNewer(*newest, *progress_));
  without_progress_ = compared_ && !is_newer ? without_progress_ + 1 : 0;
  compared_ = true;
  if (is_newer) progress_ = newest;
}

// ---- policy of Job

// An executor gets no further attempt in three cases: the executor itself failed, its container is being ended, or the
// executor was released and may have exited.
bool Job::CanRenew(const Attempt& ended) const {
  if (!ended.reported || ended.container.value.empty()) return false;
  const Container& container = containers_.at(ended.container);
  const bool leaves = container.leave_by != Instant{};
  if (container.state != ContainerState::kHeld || leaves || container.attempt != ended.id) return false;
  return !WasTakenAway(*ended.outcome);
}

bool Job::IsKept(const Attempt& ended) const {
  if (verdict_ || !CanRenew(ended)) return false;
  if (const Restart* restart = restarts_.Find(tasks_.at(ended.id.task).restart)) return restart->keeps;
  return results_.IsUnjudged(ended);
}

bool Job::MustList() const {
  return !spec_.checkpoint.directory.empty() && generation_.value == 0 && !checkpoints_.IsListed();
}

std::optional<DecisionBody> Job::JudgeEndOf(const AttemptId& id, Instant now) const {
  const Task& task = tasks_.at(id.task);
  // An attempt that ends while its task is being restarted is not judged, because the restart is already decided.
  if (task.state != TaskState::kDone || task.newest()->id != id) return std::nullopt;
  const Attempt& attempt = *task.newest();
  if (attempt.tolerated || results_.IsFinished(id.task.role)) return std::nullopt;
  Outcome outcome = *attempt.outcome;
  outcome.message += ProbableCause(attempt);
  if (IsBlamedOnTask(attempt)) outcome.cls = OutcomeClass::kUserError;
  const EndedTask ended{attempt.id, attempt.host, &outcome};
  // Before the gang has formed every task is required, even a sidecar.
  if (!HasFormed(attempt)) {
    Verdict early = JudgeEarlyEnd(ended);
    outcome.cls = early.cls;
    return RestartOrStop(ended, std::move(early), now);
  }
  if (outcome.Succeeded()) return std::nullopt;
  const bool counts = spec_.FindRole(id.task.role)->CountsFailures();
  return RestartOrStop(ended, counts ? VerdictOn(ended) : std::nullopt, now);
}

// `verdict` applies if the task does not restart; nullopt if the job can continue without the task.
std::optional<DecisionBody> Job::RestartOrStop(const EndedTask& ended, std::optional<Verdict> verdict,
                                               Instant now) const {
  const FailedTask failed{ended, HasFormed(*tasks_.Find(ended.attempt)), CanRenew(*tasks_.Find(ended.attempt))};
  const auto judged = PlanRestart(spec_, failed, restarts_.past(), now);
  if (const auto* plan = std::get_if<RestartPlan>(&judged)) return RestartFor(*plan, ended, now);
  if (!verdict) {
    if (!results_.unjudged().contains({*tasks_.Find(ended.attempt)->ended, ended.attempt})) return std::nullopt;
    return FailureTolerated{ended.attempt, DescribeFailure(ended)};
  }
  if (const std::string& why = std::get<NoRestart>(judged).why; !why.empty()) {
    verdict->message += StrCat("; ", why);
  } else if (!restarts_.past().empty()) {
    verdict->message += StrCat("; after ", Times(static_cast<int>(restarts_.past().size())));
  }
  return JobStopping{*std::move(verdict), spec_.timers.grace};
}

RestartDecided Job::RestartFor(const RestartPlan& plan, const EndedTask& cause, Instant now) const {
  return {.number = restarts_.next_number(),
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
  for (const auto& [id, task] : tasks_.all()) {
    const bool may_run = task.newest() && !IsSettled(id.role);
    if (!may_run || (scope == RestartScope::kRole && id.role != cause.role)) continue;
    if (scope == RestartScope::kGang && tasks_.persistent().contains(id)) continue;
    tasks.push_back(id);
  }
  return tasks;
}

std::optional<DecisionBody> Job::NextOfRestarts(Instant now) const {
  for (const auto& [number, restart] : restarts_.open()) {
    if (auto next = NextOf(restart, now)) return next;
  }
  return std::nullopt;
}

std::optional<DecisionBody> Job::NextOf(const Restart& restart, Instant now) const {
  if (!restart.ending.empty()) return std::nullopt;
  // The check for progress comes before the check of the delay. The search for a checkpoint began after the delay.
  // However, the clock of a new AM may be behind, and show a time within the delay.
  if (restart.noted && ConcernsTracked(restart) && checkpoints_.without_progress() >= spec_.checkpoint.most_fruitless)
    return JobStopping{WithoutProgress(restart), spec_.timers.grace};
  if (now < restart.not_before) return std::nullopt;
  if (!restart.unconfirmed.empty() && (ends_are_confirmed_ || now < restart.confirm_by)) return std::nullopt;
  // Before the first generation no task has run, so no search is necessary.
  const bool may_resume = !spec_.checkpoint.directory.empty() && generation_.value > 0;
  if (may_resume && !restart.noted) {
    if (!restart.sought) return CheckpointSearchStarted{restart.number};
    if (now >= *restart.sought + kLookLimit) return CheckpointNoted{restart.number, std::nullopt, /*known=*/false};
    return std::nullopt;
  }
  return Begin(restart);
}

// The directory is listed as late as possible, because each checkpoint that appears after the listing counts as the
// job's own.
std::optional<DecisionBody> Job::NextOfListing(Instant now) const {
  if (checkpoints_.listing_sought()) {
    if (now < *checkpoints_.listing_sought() + kLookLimit) return std::nullopt;
    const std::string why = StrCat("the checkpoint directory did not answer within ", kLookLimit.count() / 1000, " s");
    return CheckpointsListed{{.folder = spec_.checkpoint.directory, .unknown = why}};
  }
  const int registered = tasks_.Count(AttemptState::kRegistered);
  if (registered == 0 || (!IsFcfs() && registered < GangSize())) return std::nullopt;
  return ListingStarted{};
}

std::optional<Instant> Job::ListingDue() const {
  if (!AwaitsListing() || state_ != JobState::kGathering) return std::nullopt;
  return *checkpoints_.listing_sought() + kLookLimit;
}

std::optional<Instant> Job::NextRestart() const {
  std::optional<Instant> next;
  for (const auto& [number, restart] : restarts_.open()) {
    if (!restart.ending.empty() || (ends_are_confirmed_ && !restart.unconfirmed.empty())) continue;
    Instant due = restart.not_before;
    if (!restart.unconfirmed.empty()) due = std::max(due, restart.confirm_by);
    if (restart.sought && !restart.noted) due = *restart.sought + kLookLimit;
    next = next ? std::min(*next, due) : due;
  }
  return next;
}

// Returns the time at which a gang gives its containers back; nullopt if it does not wait for further containers. While
// some tasks of a gang wait for containers, the containers of its other tasks stand idle. Two gangs may wait for each
// other's containers in this way. After the limit a gang requests all its containers together, because the scheduler
// can resolve such requests.
std::optional<Instant> Job::GangHoldDeadline() const {
  using enum AttemptState;
  const Duration hold = spec_.ContainerHoldLimit();
  const bool gathers = state_ == JobState::kAllocating || state_ == JobState::kGathering;
  const int placed = tasks_.CountInGang(kAllocated) + tasks_.CountInGang(kLaunching) + tasks_.CountInGang(kRegistered);
  if (IsFcfs() || hold == Duration(0)) return std::nullopt;
  if (!(gathers && placed > 0 && !HasPlaces()) && !StuckOpening()) return std::nullopt;
  return containers_.unplaced_since() + hold;
}

// Returns the restart that gives back all containers of the gang, and requests all of them again. If late roles wait
// for containers in a running gang (an opening), only their containers are given back.
RestartDecided Job::GiveBack(Instant now) const {
  std::vector<TaskId> tasks;
  const Opening* opening = StuckOpening();
  if (opening) {
    tasks.assign(opening->tasks.begin(), opening->tasks.end());
  } else {
    tasks = TasksIn(RestartScope::kJob, {});
  }
  std::vector<AttemptId> missing;
  for (const TaskId& id : tasks) {
    const AttemptId& newest = tasks_.at(id).newest()->id;
    if (containers_.IsUnplaced(newest) && !tasks_.persistent().contains(id)) missing.push_back(newest);
  }
  const std::string others = missing.size() == 1 ? "" : StrCat(" and ", missing.size() - 1, " more");
  return {.number = restarts_.next_number(),
          .scope = opening ? RestartScope::kRole : RestartScope::kJob,
          .cause = missing.front(),
          .reason = StrCat(ToString(missing.front().task), others, " got no container for ",
                           Seconds(spec_.ContainerHoldLimit()),
                           " (tony.yarn.gang-hold); the containers of the other tasks are returned to YARN, and all "
                           "containers are requested again"),
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
    if (IsKept(last)) {
      began.renewed.push_back({next, last.container});
    } else {
      began.requested.push_back(next);
    }
  }
  return began;
}

Verdict Job::WithoutProgress(const Restart& restart) const {
  const Attempt& cause = *tasks_.Find(restart.cause);
  const EndedTask ended{cause.id, cause.host, &*cause.outcome};
  Verdict verdict = FailedBy(ended);
  const std::string newest =
      checkpoints_.newest() ? StrCat("than ", checkpoints_.newest()->path) : StrCat("in ", spec_.checkpoint.directory);
  verdict.message += StrCat("; ", Times(checkpoints_.without_progress()), " produced no newer checkpoint ", newest);
  return verdict;
}

// ---- the state changes that follow from decisions

Result<Actions> Job::Apply(const RestartDecided& d, Instant time) {
  const Attempt* cause = tasks_.Find(d.cause);
  if (d.number != restarts_.next_number() || d.tasks.empty() || !cause) return Misfit(StrCat("restart ", d.number));
  Restart decided{.number = d.number, .scope = d.scope, .cause = d.cause, .not_before = d.not_before};
  if (decided.IsOfGang()) {
    TRY(Step(JobStep::kRestart));
    late_roles_.Clear();
    for (const TaskId& id : d.tasks) tasks_.RejoinGang(id);
  }
  const Duration hold = spec_.ContainerHoldLimit();
  const bool gives_back = !cause->outcome;
  decided.keeps = d.scope != RestartScope::kJob && !gives_back && (hold == Duration(0) || d.not_before - time <= hold);
  if (!gives_back) HoldForShell(d.cause, /*is_restarted=*/true, time);
  Restart& restart = restarts_.Open(std::move(decided));
  Actions actions;
  for (const TaskId& id : d.tasks) TRY(TakeOver(restart, id, d.grace, time, actions));
  restarts_.Prune();
  restarts_.Note(d, gives_back, time);
  return actions;
}

Status Job::TakeOver(Restart& restart, const TaskId& id, Duration grace, Instant time, Actions& actions) {
  const auto found = tasks_.all().find(id);
  if (found == tasks_.all().end() || found->second.attempts.empty()) return Misfit(ToString(id));
  Task& task = found->second;
  Attempt& attempt = *task.newest();
  restarts_.Drop(task, id);
  late_roles_.TakePlace(*spec_.FindRole(id.role), id);
  results_.UncountEnd(attempt, task.state);
  TRY(tasks_.Step(id, TaskStep::kRestart));
  task.restart = restart.number;
  restart.tasks.insert(id);
  if (!IsFinal(attempt.state)) {
    restart.ending.insert(id);
    if (attempt.state != AttemptState::kStopping) StopAttempt(attempt, grace, time, actions);
  } else if (IsKept(attempt)) {
    ClearLimits(attempt.container);
  } else {
    AwaitGone(restart, attempt, time);
    ReleaseExecutor(attempt, time + kLeaveLimit, actions);
  }
  return Ok();
}

Result<Actions> Job::Apply(const ListingStarted&, Instant time) {
  if (checkpoints_.listing_sought()) return Misfit("the checkpoints have been listed already");
  checkpoints_.SeekListing(time);
  return Actions{ListCheckpoints{}};
}

Result<Actions> Job::Apply(const CheckpointsListed& d, Instant) {
  if (!checkpoints_.listing_sought() || checkpoints_.IsListed())
    return Misfit("no listing of the checkpoints was requested");
  checkpoints_.SetListing(d.listing);
  return Actions{};
}

Result<Actions> Job::Apply(const CheckpointSearchStarted& d, Instant time) {
  Restart* restart = restarts_.Find(d.restart);
  if (!restart) return Misfit(StrCat("restart ", d.restart));
  restart->sought = time;
  return Actions{SearchCheckpoint{d.restart}};
}

Result<Actions> Job::Apply(const CheckpointNoted& d, Instant) {
  Restart* restart = restarts_.Find(d.restart);
  if (!restart || !restart->sought) return Misfit(StrCat("restart ", d.restart));
  restart->noted = true;
  if (!d.known) return Actions{};
  checkpoints_.Note(d.newest);
  Actions actions;
  for (const auto& [id, task] : tasks_.all()) {
    const Attempt* attempt = task.newest();
    if (attempt && CanRun(*attempt)) actions.push_back(Tell(attempt->id));
  }
  if (ConcernsTracked(*restart)) checkpoints_.Compare(d.newest);
  return actions;
}

Result<Actions> Job::Apply(const RestartBegan& d, Instant time) {
  const Restart* restart = restarts_.Find(d.number);
  if (!restart || !restart->ending.empty() || restart->tasks.size() != d.renewed.size() + d.requested.size())
    return Misfit(StrCat("restart ", d.number));
  if (restart->IsOfGang()) TRY(Step(JobStep::kRequest));
  Actions actions;
  RequestContainers request;
  for (const RenewedAttempt& renewed : d.renewed) TRY(Renew(renewed, time, actions));
  for (const AttemptId& id : d.requested) {
    TRY(Replace(id, time, actions));
    request.asks.push_back(AskFor(id));
  }
  containers_.RestartWait(time);
  if (!request.asks.empty()) actions.push_back(std::move(request));
  if (IsFormed(*restart->tasks.begin()) && !IsFcfs()) {
    std::vector<AttemptId> attempts;
    for (const TaskId& id : restart->tasks) {
      const Attempt& attempt = *tasks_.at(id).newest();
      if (!late_roles_.Find(attempt)) attempts.push_back(attempt.id);
    }
    restarts_.Join(d.number, std::move(attempts));
  }
  restarts_.Close(d.number);
  return actions;
}

Status Job::Renew(const RenewedAttempt& renewed, Instant time, Actions& actions) {
  const AttemptId before{renewed.attempt.task, renewed.attempt.number - 1};
  const Attempt* last = tasks_.Find(before);
  if (!last || last->container != renewed.container || !CanRenew(*last)) return Misfit(ToString(renewed.attempt));
  const std::string host = last->host, log_url = last->log_url;
  TRY_ASSIGN(Attempt* const attempt, MakeAttempt(renewed.attempt, AttemptStep::kRenew, time));
  attempt->container = renewed.container;
  attempt->host = host;
  attempt->log_url = log_url;
  attempt->renewed = true;
  containers_.PassOn(renewed.container, renewed.attempt);
  deadlines_.CheckSilenceBy(time + spec_.timers.suspect_after);
  // An executor that does not know the newest attempt yet still waits for a command of an earlier attempt. Therefore
  // each of these earlier attempts gets the command.
  for (AttemptId id = before; const Attempt* waiting = tasks_.Find(id); --id.number) {
    if (waiting->container != renewed.container) break;
    actions.push_back(Tell(id));
    if (waiting->endpoint) break;
  }
  return Ok();
}

Status Job::Replace(const AttemptId& id, Instant time, Actions& actions) {
  if (const Attempt* last = tasks_.Find({id.task, id.number - 1})) ReleaseExecutor(*last, time + kLeaveLimit, actions);
  TRY(MakeAttempt(id, AttemptStep::kRequest, time));
  return Ok();
}

void Job::NoteInRestart(const Attempt& attempt, Instant time, Actions& actions) {
  const std::vector<AttemptId> attempts = restarts_.Arrive(attempt);
  if (attempts.empty()) return;
  const ClusterSpecText cluster = MakeClusterSpec();
  for (const AttemptId& id : attempts) {
    if (StartOrHold(*tasks_.Find(id), cluster, time)) actions.push_back(Tell(id));
  }
}

// Gives up all restarts, because the job stops.
void Job::AbandonRestarts(Instant time, Actions& actions) {
  while (!restarts_.open().empty()) {
    const std::set<TaskId> tasks = restarts_.open().begin()->second.tasks;
    for (const TaskId& id : tasks) AbandonRestartOf(id, time, actions);
  }
}

void Job::AbandonRestartOf(const TaskId& id, Instant time, Actions& actions) {
  Task& task = tasks_.at(id);
  if (task.restart == 0) return;
  restarts_.Drop(task, id);
  restarts_.Prune();
  task.restart = 0;
  const bool over = IsFinal(task.newest()->state);
  CHECK(tasks_.Step(id, over ? TaskStep::kGiveUp : TaskStep::kAbandon).ok());
  if (!over) return;
  if (task.newest()->outcome->Succeeded()) results_.NoteSuccess(id.role);
  ReleaseExecutor(*task.newest(), time + kLeaveLimit, actions);
}

bool Job::ConcernsTracked(const Restart& restart) const {
  return std::ranges::any_of(restart.tasks, [&](const TaskId& id) { return IsTracked(id); });
}

}  // namespace tony::am
