// The policy of the application master: what to make of what is seen.
#include <algorithm>

#include "am/completion_policy.h"
#include "am/job.h"
#include "runtime/base/overloaded.h"
#include "runtime/base/strings.h"

namespace tony::am {
namespace {

Decided Refuse(RefusalReason reason, const std::string& message) { return {.refusal = Refusal{reason, message}}; }

Verdict TimedOut(OutcomeClass cls, const std::string& message) {
  return {.state = FinalState::kFailed, .cls = cls, .message = message};
}

std::string Seconds(Duration d) { return StrCat(d.count() / 1000, ".", d.count() % 1000 / 100, " s"); }

Outcome OutcomeOfSilentEnd(AttemptState state, const ContainerExited& exited) {
  if (state == AttemptState::kStopping) return {.cls = OutcomeClass::kKilled, .message = "stopped with its container"};
  if (!exited.error.empty()) return {.cls = OutcomeClass::kInfra, .message = exited.error};
  const std::string how = exited.status ? ToString(*exited.status) : "nobody saw how";
  return {.cls = OutcomeClass::kInfra, .message = StrCat("its executor ended without a report: ", how)};
}

}  // namespace

Decided Job::Decide(const Observation& observation, Instant now) {
  return std::visit(Overloaded{
                        [&](const AmStarted& seen) { return OnStarted(seen); },
                        [&](const LeaseRenewed&) { return OnRenewed(now); },
                        [&](const TimePassed&) { return OnTime(now); },
                        [&](const KillAsked& seen) { return OnKill(seen); },
                        [&](const RegisterCall& call) { return OnRegister(call, now); },
                        [&](const AwaitCall& call) { return OnAwait(call, now); },
                        [&](const HeartbeatCall& call) { return OnHeartbeat(call, now); },
                        [&](const OutcomeCall& call) { return OnOutcome(call, now); },
                        [&](const ContainerEvent& seen) { return OnContainer(seen); },
                    },
                    observation);
}

std::optional<DecisionBody> Job::Consequence() const {
  if (epoch_.value == 0) return std::nullopt;
  switch (state_) {
    case JobState::kAccepted: {
      ContainersRequested request;
      for (const auto& [id, task] : tasks_) request.attempts.push_back({id, 1});
      return request;
    }
    case JobState::kAllocating:
      if (auto judged = JudgeLast()) return judged;
      if (unplaced_.empty()) return GangAllocated{};
      return std::nullopt;
    case JobState::kGathering:
      if (auto judged = JudgeLast()) return judged;
      if (Count(AttemptState::kRegistered) == static_cast<int>(tasks_.size()))
        return GenerationFormed{generation_.Next()};
      return std::nullopt;
    case JobState::kRunning:
      return JudgeLast();
    case JobState::kStopping:
      return NextOfStopping();
    case JobState::kSucceeded:
    case JobState::kFailed:
    case JobState::kKilled:
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<DecisionBody> Job::JudgeLast() const {
  if (!last_ended_) return std::nullopt;
  const Attempt* attempt = Find(*last_ended_);
  const EndedTask ended{attempt->id, attempt->host, &*attempt->outcome};
  std::optional<Verdict> verdict = JudgeEnd(spec_, ended, tracked_successes_);
  // Before the gang has formed nobody can be missing, not even a sidecar: the barrier would never open.
  if (!verdict && generation_.value == 0) verdict = JudgeEarlyEnd(ended);
  if (!verdict) return std::nullopt;
  return JobStopping{*std::move(verdict), spec_.timers.grace};
}

std::optional<DecisionBody> Job::NextOfStopping() const {
  if (!unplaced_.empty()) {
    return AttemptEnded{*unplaced_.begin(),
                        {.cls = OutcomeClass::kKilled, .message = "stopped before it had a container"}};
  }
  if (Count(AttemptState::kStopping) > 0 || containers_left_ > 0) return std::nullopt;
  return JobEnded{};
}

Decided Job::OnStarted(const AmStarted& seen) const {
  if (seq_ == 0) return {.decisions = {JobAccepted{}, EpochBegan{seen.epoch}}};
  return {.decisions = {EpochBegan{seen.epoch}}};
}

// After a gap nobody could have reached this AM, or known that it rules: everybody's silence starts anew.
Decided Job::OnRenewed(Instant now) {
  if (now - renewed_at_ > spec_.timers.record_fresh) {
    for (auto& [id, task] : tasks_) {
      if (task.newest()) task.newest()->last_heard = now;
    }
  }
  renewed_at_ = now;
  silence_check_ = NextSilence();
  return {};
}

// One overdue thing or one lost attempt at a time, so that each end is judged before the next; what else is due is
// still due when the shell asks for the next deadline.
Decided Job::OnTime(Instant now) {
  if (auto overdue = WhatIsOverdue(now)) return {.decisions = {*std::move(overdue)}};
  if (!silence_check_ || now < *silence_check_ || !AnyWatched()) return {};
  const bool ruled = now - renewed_at_ <= spec_.timers.record_fresh;
  std::vector<DecisionBody> silent = ruled ? WhoIsSilent(now) : std::vector<DecisionBody>();
  if (silent.empty()) silence_check_ = ruled ? NextSilence() : std::nullopt;
  return {.decisions = std::move(silent)};
}

std::optional<DecisionBody> Job::WhatIsOverdue(Instant now) const {
  const bool gathering = state_ == JobState::kAllocating || state_ == JobState::kGathering;
  if (gathering && now >= accepted_at_ + spec_.registration_timeout) {
    const std::string limit = Seconds(spec_.registration_timeout);
    return JobStopping{
        TimedOut(OutcomeClass::kTimeout, StrCat("not every task registered within ", limit,
                                                " (tony.container.registration.timeout): missing ", Missing())),
        spec_.timers.grace};
  }
  if ((gathering || state_ == JobState::kRunning) && spec_.timeout.count() > 0 && now >= accepted_at_ + spec_.timeout) {
    return JobStopping{TimedOut(OutcomeClass::kTimeout, StrCat("the job ran longer than ", Seconds(spec_.timeout),
                                                               " (tony.application.timeout)")),
                       spec_.timers.grace};
  }
  if (!stopping_held_.empty() && now >= stop_by_) return ContainerKillOrdered{*stopping_held_.begin()};
  if (!leaving_.empty() && now >= leaving_.begin()->first) return ContainerKillOrdered{leaving_.begin()->second};
  return std::nullopt;
}

std::vector<DecisionBody> Job::WhoIsSilent(Instant now) const {
  std::vector<DecisionBody> suspects;
  for (const auto& [id, task] : tasks_) {
    const Attempt* attempt = task.newest();
    if (!attempt || !IsWatched(*attempt)) continue;
    const Duration silence = now - attempt->last_heard;
    if (silence >= spec_.timers.lost_after) {
      const std::string why = StrCat("no heartbeat for ", Seconds(silence));
      return {AttemptEnded{attempt->id, {.cls = OutcomeClass::kNodeLost, .message = why}}};
    }
    if (silence >= spec_.timers.suspect_after && !attempt->suspect) suspects.push_back(AttemptSuspected{attempt->id});
  }
  return suspects;
}

std::optional<Instant> Job::NextSilence() const {
  std::optional<Instant> next;
  for (const auto& [id, task] : tasks_) {
    const Attempt* attempt = task.newest();
    if (!attempt || !IsWatched(*attempt)) continue;
    const Instant due = attempt->last_heard + (attempt->suspect ? spec_.timers.lost_after : spec_.timers.suspect_after);
    next = next ? std::min(*next, due) : due;
  }
  return next;
}

std::optional<Instant> Job::NextDeadline() const {
  std::optional<Instant> next;
  const auto sooner = [&](Instant t) { next = next ? std::min(*next, t) : t; };
  const bool gathering = state_ == JobState::kAllocating || state_ == JobState::kGathering;
  if (silence_check_ && AnyWatched()) sooner(*silence_check_);
  if (gathering) sooner(accepted_at_ + spec_.registration_timeout);
  if ((gathering || state_ == JobState::kRunning) && spec_.timeout.count() > 0) sooner(accepted_at_ + spec_.timeout);
  if (!stopping_held_.empty()) sooner(stop_by_);
  if (!leaving_.empty()) sooner(leaving_.begin()->first);
  return next;
}

Decided Job::OnKill(const KillAsked& seen) const {
  const Duration grace = seen.grace.count() < 0 ? spec_.timers.grace : seen.grace;
  if (Ended()) return {};
  if (state_ == JobState::kStopping) {
    if (grace >= stop_grace_) return {};
    return {.decisions = {StopHurried{grace}}};
  }
  Verdict verdict{.state = FinalState::kKilled, .cls = OutcomeClass::kKilled, .message = seen.reason};
  return {.decisions = {JobStopping{std::move(verdict), grace}}};
}

std::optional<Refusal> Job::CheckCaller(const Caller& caller) const {
  using enum RefusalReason;
  if (caller.job != id_) return Refusal{kWrongJob, StrCat("this is the application master of ", id_.value)};
  if (caller.epoch > epoch_) return Refusal{kStaleEpoch, StrCat("this is epoch ", epoch_.value)};
  const Attempt* attempt = Find(caller.attempt);
  if (!attempt || attempt->container.value.empty()) return Refusal{kUnknownAttempt, ToString(caller.attempt)};
  if (attempt->container != caller.container) return Refusal{kStaleAttempt, "another container has this attempt"};
  if (attempt != tasks_.at(caller.attempt.task).newest())
    return Refusal{kStaleAttempt, "a newer attempt has been made"};
  if (caller.generation > generation_)
    return Refusal{kBadRequest, StrCat("generation ", caller.generation.value, " has not been formed")};
  return std::nullopt;
}

Decided Job::Hear(const Caller& caller, Instant now) {
  if (auto refusal = CheckCaller(caller)) return {.refusal = std::move(refusal)};
  Attempt* attempt = Find(caller.attempt);
  attempt->last_heard = std::max(attempt->last_heard, now);
  if (attempt->suspect && !IsFinal(attempt->state)) return {.decisions = {AttemptHeard{attempt->id}}};
  return {};
}

Decided Job::OnRegister(const RegisterCall& call, Instant now) {
  Decided out = Hear(call.caller, now);
  if (out.refusal) return out;
  const Attempt& attempt = *Find(call.caller.attempt);
  // An executor whose attempt has ended may come back for its release; one that still works was given up.
  if (IsFinal(attempt.state)) {
    if (call.registration.phase == Phase::kEnded) return out;
    return Refuse(RefusalReason::kStaleAttempt, StrCat(ToString(attempt.id), " has ended: ", ToString(attempt.state)));
  }
  if (attempt.endpoint && *attempt.endpoint != call.registration.endpoint) {
    return Refuse(RefusalReason::kBadRequest,
                  StrCat(ToString(attempt.id), " registered as ", ToString(*attempt.endpoint)));
  }
  const bool is_new = attempt.state == AttemptState::kAllocated || attempt.state == AttemptState::kLaunching;
  if (is_new) out.decisions.push_back(AttemptRegistered{attempt.id, call.registration.endpoint});
  if (CanRun(attempt) && call.registration.phase == Phase::kRunning) {
    out.decisions.push_back(AttemptRan{attempt.id, call.registration.pid});
  }
  return out;
}

Decided Job::OnAwait(const AwaitCall& call, Instant now) { return Hear(call.caller, now); }

Decided Job::OnHeartbeat(const HeartbeatCall& call, Instant now) {
  Decided out = Hear(call.caller, now);
  if (out.refusal) return out;
  const Attempt& attempt = *Find(call.caller.attempt);
  if (IsFinal(attempt.state) && call.progress.phase != Phase::kEnded) {
    return Refuse(RefusalReason::kStaleAttempt, StrCat(ToString(attempt.id), " has ended: ", ToString(attempt.state)));
  }
  if (CanRun(attempt) && call.progress.phase == Phase::kRunning) {
    out.decisions.push_back(AttemptRan{attempt.id, call.progress.pid});
  }
  return out;
}

Decided Job::OnOutcome(const OutcomeCall& call, Instant now) {
  Decided out = Hear(call.caller, now);
  if (out.refusal) return out;
  const Attempt& attempt = *Find(call.caller.attempt);
  if (IsFinal(attempt.state)) return out;  // told before; the first report counts
  if (!MayReport(attempt)) return Refuse(RefusalReason::kBadRequest, "register first");
  out.decisions.push_back(AttemptEnded{attempt.id, call.outcome});
  return out;
}

Decided Job::OnContainer(const ContainerEvent& seen) const {
  return std::visit(Overloaded{
                        [&](const ContainerGranted& granted) { return OnGranted(granted); },
                        [&](const ContainerStarted& started) { return OnStartedContainer(started); },
                        [&](const ContainerExited& exited) { return OnExited(exited, seen.kept_outcome); },
                        [&](const SchedulerReached& reached) { return OnReached(reached); },
                        [&](const SchedulerLost&) { return Decided{}; },
                    },
                    seen.event);
}

Decided Job::OnGranted(const ContainerGranted& granted) const {
  if (containers_.contains(granted.container)) return {};
  if (StateOf(granted.attempt) == AttemptState::kRequested) {
    return {.decisions = {ContainerAssigned{granted.attempt, granted.container, granted.host}}};
  }
  return {.actions = {StopContainer{granted.container, StopMode::kKill}}};  // surplus: it goes back
}

Decided Job::OnStartedContainer(const ContainerStarted& started) const {
  const auto attempt = AttemptIn(started.container);
  if (!attempt || StateOf(*attempt) != AttemptState::kAllocated) return {};
  return {.decisions = {AttemptLaunched{*attempt}}};
}

Decided Job::OnExited(const ContainerExited& exited, const std::optional<Outcome>& kept) const {
  const auto found = containers_.find(exited.container);
  if (found == containers_.end() || found->second.state == ContainerState::kGone) return {};
  Decided out;
  const AttemptId& attempt = found->second.attempt;
  if (const AttemptState state = StateOf(attempt); !IsFinal(state)) {
    const bool believable = kept && MayReport(*Find(attempt));
    out.decisions.push_back(AttemptEnded{attempt, believable ? *kept : OutcomeOfSilentEnd(state, exited)});
  }
  out.decisions.push_back(ContainerEnded{exited.container});
  return out;
}

// A launch order may have been lost with the connection; asking twice changes nothing.
Decided Job::OnReached(const SchedulerReached& reached) const {
  Decided out;
  for (const auto& [id, container] : containers_) {
    if (StateOf(container.attempt) != AttemptState::kAllocated || std::ranges::count(reached.running, id) > 0) continue;
    out.actions.push_back(LaunchExecutor{container.attempt, id});
  }
  return out;
}

std::string Job::Missing() const {
  std::vector<std::string> missing;
  for (const auto& [id, task] : tasks_) {
    const Attempt* attempt = task.newest();
    if (attempt && !attempt->endpoint) missing.push_back(ToString(id));
  }
  constexpr size_t kNamed = 5;
  if (missing.size() <= kNamed) return Join(missing, ", ");
  const std::string more = StrCat(" and ", missing.size() - kNamed, " more");
  missing.resize(kNamed);
  return Join(missing, ", ") + more;
}

}  // namespace tony::am
