// The policy of the application master: which decisions follow from each observation.
#include <algorithm>

#include "am/core/job.h"
#include "runtime/base/result.h"
#include "runtime/base/strings.h"

namespace tony::am {
namespace {

Decided Refuse(RefusalReason reason, const std::string& message) { return {.refusal = Refusal{reason, message}}; }

Outcome OutcomeOfSilentEnd(AttemptState state, const ContainerExited& exited) {
  if (state == AttemptState::kStopping)
    return {.cls = OutcomeClass::kKilled, .message = "the attempt was stopped with its container"};
  if (!exited.error.empty()) return {.cls = OutcomeClass::kInfra, .message = exited.error};
  const std::string how = exited.status ? ToString(*exited.status) : "the exit status is not known";
  return {.cls = OutcomeClass::kInfra, .message = StrCat("the task's executor ended without a report: ", how)};
}

// Adds `what`, which describes processes that are left on the machine, to the outcome's message. The advice for a
// failure becomes "permanent", because no new attempt may start next to these processes.
void SetLeft(Outcome& outcome, const std::string& what) {
  if (!outcome.Succeeded()) outcome.advice = Advice::kPermanent;
  if (outcome.message.find(what) == std::string::npos)
    outcome.message += StrCat(outcome.message.empty() ? "" : "; ", what);
}

// Returns the error that the scheduler saw, followed by the memory that the job requested.
std::string OverItsMemory(const RoleSpec& role, const std::string& error) {
  return StrCat(error, "; ", role.Key("memory"), " is ", role.resources.memory_mb, " MB");
}

}  // namespace

Decided Job::Decide(const Observation& observation, Instant now) {
  // An attempt's end is judged only in the step that saw it, because the budgets may have changed in later steps. A
  // start on a journal of version 1 is the exception, because the last end in the journal may not be judged yet.
  const auto* started = std::get_if<AmStarted>(&observation);
  if (!started || !started->steps_may_be_torn) results_.ForgetNewestEnd();
  return std::visit(Overloaded{
                        [&](const AmStarted& seen) { return OnStarted(seen, now); },
                        [&](const LeaseRenewed&) { return OnRenewed(now); },
                        [&](const TimePassed&) { return OnTime(now); },
                        [&](const KillRequested& seen) { return OnKill(seen.request, now); },
                        [&](const AttachRequested& seen) { return OnAttach(seen, now); },
                        [&](const ClientSeen& seen) { return OnClientSeen(seen, now); },
                        [&](const RegisterCall& call) { return OnRegister(call, now); },
                        [&](const AwaitCall& call) { return Hear(call.caller, now); },
                        [&](const HeartbeatCall& call) { return OnHeartbeat(call, now); },
                        [&](const PublishCall& call) { return OnPublish(call, now); },
                        [&](const OutcomeCall& call) { return OnOutcome(call, now); },
                        [&](const ContainerEvent& seen) { return OnContainer(seen); },
                        [&](const CheckpointsFound& seen) { return OnListing(seen); },
                        [&](const CheckpointSearched& seen) { return OnCheckpoint(seen); },
                    },
                    observation);
}

std::optional<DecisionBody> Job::Consequence(Instant now) const {
  if (epoch_.value == 0) return std::nullopt;
  if (const auto withdrawn = containers_.NextWithdrawn())
    return AttemptEnded{*withdrawn,
                        {.cls = OutcomeClass::kKilled, .message = "the attempt was stopped before it had a container"}};
  if (auto judged = Judge(now)) return judged;
  if (auto next = NextOfRestarts(now)) return next;
  switch (state_) {
    case JobState::kAccepted:
      return ContainersRequested{AttemptsToOpen()};
    case JobState::kAllocating:
      if (IsFcfs() || HasPlaces()) return GangAllocated{};
      return std::nullopt;
    case JobState::kGathering:
      if (MustList()) return NextOfListing(now);
      if (IsFcfs() || HasGathered()) return GenerationFormed{generation_.Next()};
      return std::nullopt;
    case JobState::kStopping:
      if (auto released = EndOfHold()) return released;
      if (tasks_.Count(AttemptState::kStopping) > 0 || containers_.left() > 0) return std::nullopt;
      return JobEnded{};
    case JobState::kRunning:
      if (auto stage = NextStage()) return stage;
      return NextRoles();
    case JobState::kRestarting:
    case JobState::kSucceeded:
    case JobState::kFailed:
    case JobState::kKilled:
      return std::nullopt;
  }
  return std::nullopt;
}

// A kill ends the hold of a container at once.
std::optional<DecisionBody> Job::EndOfHold() const {
  const Attempt* held = verdict_->state == FinalState::kKilled ? HeldForShell() : nullptr;
  return held ? std::optional<DecisionBody>(ContainerKillOrdered{held->container}) : std::nullopt;
}

Decided Job::OnStarted(const AmStarted& seen, Instant now) {
  ownership_.RestartWatchTimeout(now);
  ends_are_confirmed_ = seen.ends_are_confirmed;
  Decided out;
  if (seq_ == 0) out.decisions.push_back(JobAccepted{});
  out.decisions.push_back(EpochBegan{seen.epoch});
  if (!ownership_.claimed() && seen.claim != Claim()) out.decisions.push_back(OwnerChanged{seen.claim});
  for (DecisionBody& voided : ownership_.DecideVoid()) out.decisions.push_back(std::move(voided));
  return out;
}

KillAnswer Job::AnswerTo(const KillRequest& request, Instant now) const {
  if (Ended()) return KillAnswer::kEnded;
  // An earlier AM planned this kill, and died before it could remove the record. The plan decides, or has become void.
  if (ownership_.WasPlanned(request)) return KillAnswer::kFenced;
  return ownership_.Judge(request, now);
}

Decided Job::OnKill(const KillRequest& request, Instant now) const {
  const KillAnswer answer = AnswerTo(request, now);
  if (answer == KillAnswer::kEnded || answer == KillAnswer::kFenced) return {};
  const JobStopping stopping = StopFor(request);
  if (state_ == JobState::kStopping) {
    Decided out;
    if (answer == KillAnswer::kPlanned) return out;
    if (stopping.grace < stop_grace_) out.decisions.push_back(GraceShortened{stopping.grace});
    if (const Attempt* held = HeldForShell()) out.decisions.push_back(ContainerKillOrdered{held->container});
    return out;
  }
  if (answer == KillAnswer::kPlanned) return {.decisions = ownership_.DecidePlan(request)};
  return {.decisions = {stopping}};
}

JobStopping Job::StopFor(const KillRequest& request) const {
  return {{.state = FinalState::kKilled, .cls = OutcomeClass::kKilled, .message = ReasonWithRequester(request)},
          request.grace.count() < 0 ? spec_.timers.grace : request.grace};
}

Decided Job::OnClientSeen(const ClientSeen& seen, Instant now) {
  if (Ended()) return {};
  return {.decisions = ownership_.DecideClientSeen(seen.watcher, now)};
}

bool Job::MayAttach() const { return !Ended() && (!verdict_ || verdict_->state == FinalState::kSucceeded); }

Decided Job::OnAttach(const AttachRequested& seen, Instant now) {
  if (!MayAttach()) return {};
  ownership_.DecideClientSeen({}, now);
  return {.decisions = ownership_.DecideAttach(seen.claim)};
}

std::optional<Refusal> Job::CheckCaller(const Caller& caller) const {
  using enum RefusalReason;
  if (caller.job != id_) return Refusal{kWrongJob, StrCat("this application master belongs to job ", id_.value)};
  if (caller.epoch > epoch_)
    return Refusal{kStaleEpoch, StrCat("the epoch of this application master is ", epoch_.value)};
  const Attempt* attempt = tasks_.Find(caller.attempt);
  if (!attempt || attempt->container.value.empty()) return Refusal{kUnknownAttempt, ToString(caller.attempt)};
  if (attempt->container != caller.container) return Refusal{kStaleAttempt, "this attempt runs in another container"};
  // A call about an ended attempt is accepted if the same executor now runs the newest attempt.
  const Attempt* newest = tasks_.at(caller.attempt.task).newest();
  if (attempt != newest && newest->container != caller.container && !IsHeldForShell(*attempt))
    return Refusal{kStaleAttempt, "a newer attempt of this task exists"};
  if (caller.generation > generation_)
    return Refusal{kBadRequest, StrCat("generation ", caller.generation.value, " has not been formed")};
  return std::nullopt;
}

Decided Job::Hear(const Caller& caller, Instant now) {
  if (auto refusal = CheckCaller(caller)) return {.refusal = std::move(refusal)};
  Attempt* attempt = tasks_.Find(caller.attempt);
  attempt->last_heard = std::max(attempt->last_heard, now);
  if (deadlines_.IsSet(Limit::kGiveUp, *attempt)) ExtendGiveUp(*attempt, now);
  if (attempt->suspect && !IsFinal(attempt->state)) return {.decisions = {HeartbeatsReturned{attempt->id}}};
  return {};
}

Decided Job::OnRegister(const RegisterCall& call, Instant now) {
  Decided out = Hear(call.caller, now);
  if (out.refusal) return out;
  const Attempt& attempt = *tasks_.Find(call.caller.attempt);
  // An executor may register for an attempt that has ended if its program has ended, too: the executor then receives
  // its RELEASE command. While the program still runs, the call is refused, because the AM has already given up the
  // attempt.
  if (IsFinal(attempt.state)) {
    if (call.registration.phase == Phase::kEnded) return out;
    return Refuse(RefusalReason::kStaleAttempt, StrCat(ToString(attempt.id), " has ended: ", ToString(attempt.state)));
  }
  const Registration& what = call.registration;
  if (attempt.endpoint && (*attempt.endpoint != what.endpoint || attempt.ports != what.ports)) {
    return Refuse(RefusalReason::kBadRequest,
                  StrCat(ToString(attempt.id), " has already registered as ", ToString(*attempt.endpoint)));
  }
  const bool is_new = attempt.state == AttemptState::kAllocated || attempt.state == AttemptState::kLaunching;
  if (is_new) out.decisions.push_back(AttemptRegistered{attempt.id, what.endpoint, what.ports});
  if (CanRun(attempt) && what.phase == Phase::kRunning) out.decisions.push_back(AttemptRan{attempt.id, what.pid});
  return out;
}

Decided Job::OnHeartbeat(const HeartbeatCall& call, Instant now) {
  Decided out = Hear(call.caller, now);
  if (out.refusal) return out;
  Attempt& attempt = *tasks_.Find(call.caller.attempt);
  if (IsFinal(attempt.state) && call.progress.phase != Phase::kEnded) {
    return Refuse(RefusalReason::kStaleAttempt, StrCat(ToString(attempt.id), " has ended: ", ToString(attempt.state)));
  }
  if (call.progress.usage) attempt.usage = call.progress.usage;
  if (CanRun(attempt) && call.progress.phase == Phase::kRunning) {
    out.decisions.push_back(AttemptRan{attempt.id, call.progress.pid});
  }
  return out;
}

Decided Job::OnOutcome(const OutcomeCall& call, Instant now) {
  Decided out = Hear(call.caller, now);
  if (out.refusal) return out;
  const Attempt& attempt = *tasks_.Find(call.caller.attempt);
  // The end was reported before; only the first report counts.
  if (IsFinal(attempt.state)) return out;
  if (!MayReport(attempt))
    return Refuse(RefusalReason::kBadRequest,
                  "the executor has not registered; it must register before it reports an outcome");
  const Outcome outcome = WithoutValues(attempt, call.outcome, OutcomeClass::kUserError);
  const Outcome explained = Explained(attempt, outcome);
  out.decisions.push_back(AttemptEnded{attempt.id, explained, /*reported=*/true});
  const bool may_be_kept =
      !explained.Succeeded() && !WasTakenAway(explained) && !verdict_ && containers_.IsHeld(attempt.container);
  if (may_be_kept && containers_.IsBeingPreempted(attempt.container))
    out.decisions.push_back(ContainerKillOrdered{attempt.container});
  return out;
}

Decided Job::OnListing(const CheckpointsFound& seen) const {
  if (!AwaitsListing()) return {};
  if (!seen.in_use_by) return {.decisions = {CheckpointsListed{seen.listing}}};
  const std::string message = StrCat("tony.checkpoint.dir: ", spec_.checkpoint.directory, " is in use by job ",
                                     seen.in_use_by->value, ", which has not ended");
  return {
      .decisions = {JobStopping{{.state = FinalState::kFailed, .cls = OutcomeClass::kUserConfig, .message = message},
                                spec_.timers.grace}}};
}

Decided Job::OnCheckpoint(const CheckpointSearched& seen) const {
  const Restart* restart = restarts_.Find(seen.restart);
  if (!restart || !restart->sought || restart->noted) return {};
  return {.decisions = {CheckpointNoted{seen.restart, seen.newest, seen.readable}}};
}

Decided Job::OnContainer(const ContainerEvent& seen) {
  return std::visit(Overloaded{
                        [&](const ContainerGranted& granted) { return OnGranted(granted); },
                        [&](const ContainerStarted& started) { return OnLaunched(started); },
                        [&](const ContainerExited& exited) { return OnExited(exited); },
                        [&](const ContainerPreempting& notice) { return OnPreempting(notice); },
                        [&](const SchedulerReached& reached) { return OnReached(reached); },
                        [&](const ContainersPending&) { return Decided{}; },
                        [&](const SchedulerLost&) { return Decided{}; },
                    },
                    seen.event);
}

Decided Job::OnGranted(const ContainerGranted& granted) const {
  if (containers_.Find(granted.container)) return {};
  if (StateOf(granted.attempt) == AttemptState::kRequested) {
    return {.decisions = {ContainerAssigned{granted.attempt, granted.container, granted.host, granted.log_url}}};
  }
  // The container is surplus, so the scheduler gets it back.
  return {.actions = {StopContainer{granted.container, StopMode::kKill}}};
}

Decided Job::OnLaunched(const ContainerStarted& started) const {
  const auto attempt = AttemptIn(started.container);
  if (!attempt || StateOf(*attempt) != AttemptState::kAllocated) return {};
  return {.decisions = {AttemptLaunched{*attempt}}};
}

Decided Job::OnExited(const ContainerExited& exited) const {
  const Container* found = containers_.Find(exited.container);
  if (!found || found->state == ContainerState::kGone) return {};
  Decided out;
  const AttemptId& id = found->attempt;
  if (const AttemptState state = StateOf(id); !IsFinal(state)) {
    const Attempt& attempt = *tasks_.Find(id);
    // If the scheduler is not certain that the executor ended, a registered executor may still call, so only missed
    // heartbeats end its attempt. An executor that has not registered never got a START, so its attempt ends now.
    if (!exited.certain && (attempt.endpoint || attempt.renewed)) return {};
    const bool believable = exited.kept && exited.kept->attempt == id && MayReport(attempt);
    const bool given_up = attempt.give_up_at != Instant{} && state != AttemptState::kStopping;
    // An executor that could not report could not send its task's values either, so missing values count as an
    // infrastructure failure here.
    Outcome outcome = believable                 ? WithoutValues(attempt, exited.kept->outcome, OutcomeClass::kInfra)
                      : given_up && !exited.left ? Silence()
                                                 : OutcomeOfSilentEnd(state, exited);
    // An executor that was ordered to exit does not know the reason. The scheduler may know it, so its class replaces a
    // vague class.
    const bool vague = outcome.cls == OutcomeClass::kInfra || outcome.cls == OutcomeClass::kKilled;
    if (vague && exited.cls && exited.cls != OutcomeClass::kSuccess) outcome.cls = *exited.cls;
    if (outcome.cls == OutcomeClass::kOom && !exited.error.empty())
      outcome.message = OverItsMemory(*spec_.FindRole(id.task.role), exited.error);
    outcome = Explained(attempt, std::move(outcome));
    if (exited.left) SetLeft(outcome, exited.error);
    out.decisions.push_back(AttemptEnded{id, std::move(outcome)});
  }
  out.decisions.push_back(ContainerEnded{exited.container});
  // The task cannot restart, because its new attempt would run at the same time as the process that is left. Therefore
  // the job stops.
  if (exited.left && !verdict_ && restarts_.Find(tasks_.at(id.task).restart)) {
    out.decisions.push_back(JobStopping{{.state = FinalState::kFailed,
                                         .cls = OutcomeClass::kInfra,
                                         .message = StrCat(ToString(id.task), " cannot be restarted: ", exited.error),
                                         .attempt = id,
                                         .host = tasks_.Find(id)->host},
                                        spec_.timers.grace});
  }
  return out;
}

// Adds the newest known usage to an outcome. If the attempt was stopped, the outcome gets the reason for the stop,
// which explains more than "killed". This includes an infrastructure failure, because an executor that never received
// STOP is ended with its container and reports nothing.
Outcome Job::Explained(const Attempt& attempt, Outcome outcome) const {
  if (!outcome.usage) outcome.usage = attempt.usage;
  const bool ended_as_told = outcome.cls == OutcomeClass::kKilled ||
                             (outcome.cls == OutcomeClass::kInfra && attempt.state == AttemptState::kStopping);
  if (attempt.because && ended_as_told) {
    outcome.cls = attempt.because->cls;
    outcome.message = attempt.because->message;
  }
  return outcome;
}

// A container without a running attempt may be kept for the next attempt of its task. Such a container is killed at
// once, because the preemption would stop the next attempt soon after its start.
Decided Job::OnPreempting(const ContainerPreempting& notice) {
  constexpr Duration kToReport{1000};
  const auto id = AttemptIn(notice.container);
  if (!id || verdict_) return {};
  const AttemptState state = StateOf(*id);
  if (IsFinal(state) && IsKept(*tasks_.Find(*id))) return {.decisions = {ContainerKillOrdered{notice.container}}};
  containers_.NotePreemption(notice.container);
  if (IsFinal(state) || state == AttemptState::kStopping) return {};
  const Outcome because{.cls = OutcomeClass::kPreempted,
                        .message = "the scheduler is preempting the container of the attempt"};
  return {.decisions = {AttemptStopping{*id, because, std::max(Duration(0), notice.notice - kToReport)}}};
}

// Repeats launch orders, because an order may have been lost with the connection. A repeated order has no effect.
Decided Job::OnReached(const SchedulerReached& reached) const {
  Decided out;
  for (const auto& [id, container] : containers_.all()) {
    if (StateOf(container.attempt) != AttemptState::kAllocated || std::ranges::count(reached.running, id) > 0) continue;
    out.actions.push_back(LaunchExecutor{container.attempt, id});
  }
  return out;
}

}  // namespace tony::am
