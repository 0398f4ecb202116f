// Decides by the current time which limit has expired, which heartbeats were missed, and when to check again.
#include "am/core/deadlines.h"

#include <algorithm>
#include <utility>

#include "am/core/job.h"
#include "runtime/base/check.h"
#include "runtime/base/strings.h"
#include "runtime/base/time.h"
#include "runtime/job/claim.h"

namespace tony::am {
namespace {

Instant Attempt::*MemberOf(Limit limit) {
  switch (limit) {
    case Limit::kAllocate:
      return &Attempt::allocate_by;
    case Limit::kRegister:
      return &Attempt::register_by;
    case Limit::kPublish:
      return &Attempt::publish_by;
    case Limit::kGiveUp:
      return &Attempt::give_up_at;
  }
  CHECK(false);
}

Verdict TimedOut(const std::string& message) {
  return {.state = FinalState::kFailed, .cls = OutcomeClass::kTimeout, .message = message};
}

}  // namespace

Instant Deadlines::TimeOf(Limit limit, const Attempt& attempt) { return attempt.*MemberOf(limit); }

bool Deadlines::IsSet(Limit limit, const Attempt& attempt) const {
  return all(limit).contains({TimeOf(limit, attempt), attempt.id});
}

bool Deadlines::IsLeaving(const ContainerId& id, const Container& container) const {
  return all(ContainerLimit::kLeave).contains({container.leave_by, id});
}

std::optional<Instant> Deadlines::Next(bool give_up) const {
  std::optional<Instant> next;
  const auto sooner = [&](const auto& queue) {
    if (!queue.empty()) next = next ? std::min(*next, queue.begin()->first) : queue.begin()->first;
  };
  for (const Limit limit : {Limit::kAllocate, Limit::kRegister, Limit::kPublish}) sooner(all(limit));
  if (give_up) sooner(all(Limit::kGiveUp));
  for (const ContainerLimit limit : {ContainerLimit::kStop, ContainerLimit::kLeave}) sooner(all(limit));
  return next;
}

void Deadlines::Set(Limit limit, Attempt& attempt, Instant due) {
  Clear(limit, attempt);
  attempt.*MemberOf(limit) = due;
  attempts_[static_cast<size_t>(limit)].emplace(due, attempt.id);
}

void Deadlines::SetStop(Attempt& attempt, const Container& container, Instant due) {
  auto& queue = containers_[static_cast<size_t>(ContainerLimit::kStop)];
  queue.erase({attempt.stop_by, attempt.container});
  attempt.stop_by = due;
  if (container.state == ContainerState::kHeld) queue.emplace(due, attempt.container);
}

void Deadlines::SetLeave(const ContainerId& id, Container& container, Instant due) {
  auto& queue = containers_[static_cast<size_t>(ContainerLimit::kLeave)];
  queue.erase({container.leave_by, id});
  container.leave_by = due;
  queue.emplace(due, id);
}

void Deadlines::Clear(Limit limit, const Attempt& attempt) {
  attempts_[static_cast<size_t>(limit)].erase({TimeOf(limit, attempt), attempt.id});
}

void Deadlines::Clear(const Attempt& attempt) {
  for (const Limit limit : {Limit::kAllocate, Limit::kRegister, Limit::kPublish, Limit::kGiveUp}) Clear(limit, attempt);
}

void Deadlines::Clear(const ContainerId& id, const Container& container, const Attempt& attempt) {
  containers_[static_cast<size_t>(ContainerLimit::kStop)].erase({attempt.stop_by, id});
  containers_[static_cast<size_t>(ContainerLimit::kLeave)].erase({container.leave_by, id});
}

// If the lease was not renewed for longer than `record_fresh`, executors could neither reach this AM nor see that it is
// the leader. Therefore the silence of each executor counts from now. The limits of executors that were given up are
// extended, because these executors did not know that they had to stop.
Decided Job::OnRenewed(Instant now) {
  if (now - deadlines_.renewed_at() > spec_.timers.record_fresh) {
    for (auto& [id, task] : tasks_.all()) {
      if (task.newest()) task.newest()->last_heard = now;
    }
    for (const auto& [due, id] : Deadlines::Queue<AttemptId>(deadlines_.all(Limit::kGiveUp)))
      ExtendGiveUp(*tasks_.Find(id), now);
    containers_.RestartWait(std::max(containers_.unplaced_since(), now));
    ownership_.RestartWatchTimeout(now);
  }
  deadlines_.LeaseRenewed(now);
  deadlines_.CheckSilenceAt(NextSilence());
  return {};
}

// A step handles one expired limit, so that each end is judged before the next limit is handled. NextDeadline() still
// returns the other expired limits, so the next step follows at once.
Decided Job::OnTime(Instant now) {
  if (auto overdue = ExpiredDeadline(now)) return {.decisions = {*std::move(overdue)}};
  if (!deadlines_.silence_check() || now < *deadlines_.silence_check() || !AnyWatched()) return {};
  const bool ruled = now - deadlines_.renewed_at() <= spec_.timers.record_fresh;
  std::vector<DecisionBody> silent = ruled ? MissedHeartbeats(now) : std::vector<DecisionBody>();
  if (silent.empty()) deadlines_.CheckSilenceAt(ruled ? NextSilence() : std::nullopt);
  return {.decisions = std::move(silent)};
}

std::optional<DecisionBody> Job::ExpiredDeadline(Instant now) const {
  if (deadlines_.Expired(Limit::kAllocate, now)) {
    return JobStopping{TimedOut(StrCat("not every task got a container within ", Seconds(spec_.allocation_timeout),
                                       " (tony.container.allocation.timeout): missing ", Missing(/*container=*/true))),
                       spec_.timers.grace};
  }
  if (const auto due = GangHoldDeadline(); due && now >= *due) return GiveBack(now);
  if (const auto late = deadlines_.Expired(Limit::kRegister, now))
    return JobStopping{TimedOut(LateRegistration(*late)), spec_.timers.grace};
  if (deadlines_.Expired(Limit::kPublish, now)) {
    return JobStopping{TimedOut(StrCat("some tasks did not publish the values for other tasks within ",
                                       Seconds(spec_.registration_timeout),
                                       " (tony.container.registration.timeout): missing ", MissingValues())),
                       spec_.timers.grace};
  }
  if (const auto limit = TimeLimit(); limit && now >= *limit) {
    return JobStopping{TimedOut(StrCat("the job ran longer than ", Seconds(spec_.timeout),
                                       " (tony.application.timeout)", HangReport(now))),
                       spec_.timers.grace};
  }
  if (const auto outlived = NextOutlived(); outlived && now >= outlived->due) return EndOf(*outlived, now);
  if (auto ending = OwnershipDecision(now)) return ending;
  if (const auto late = deadlines_.Expired(ContainerLimit::kStop, now)) return ContainerKillOrdered{*late};
  if (const auto late = deadlines_.Expired(ContainerLimit::kLeave, now)) return ContainerKillOrdered{*late};
  if (ends_are_confirmed_) return std::nullopt;
  const auto given_up = deadlines_.Expired(Limit::kGiveUp, now);
  if (!given_up) return std::nullopt;
  return AttemptEnded{*given_up, Silence(", and no report confirmed that the task's processes have ended")};
}

std::string Job::LateRegistration(const AttemptId& id) const {
  if (tasks_.Find(id)->since_launch) {
    return StrCat(ToString(id.task), " did not register within ", Seconds(spec_.registry_timeout),
                  " of its container's start (", kRegistryTimeoutKey, ")");
  }
  return StrCat("not every task registered within ", Seconds(spec_.registration_timeout),
                " (tony.container.registration.timeout): missing ", Missing(/*container=*/false));
}

std::optional<DecisionBody> Job::OwnershipDecision(Instant now) const {
  if (verdict_) return std::nullopt;
  if (const auto kill = ownership_.DueKill(now)) return StopFor(*kill);
  if (!ownership_.IsAbandoned(now)) return std::nullopt;
  Verdict abandoned{.state = FinalState::kKilled, .cls = OutcomeClass::kAbandoned};
  abandoned.message = StrCat("no client has requested the status of the job for ",
                             Seconds(ownership_.claim().watch_timeout), " (watch timeout)");
  return JobStopping{std::move(abandoned), spec_.timers.grace};
}

Outcome Job::Silence(const std::string& more) const {
  return {.cls = OutcomeClass::kNodeLost,
          .message = StrCat("no heartbeat for ", Seconds(spec_.timers.lost_after), more)};
}

std::optional<Instant> Job::TimeLimit() const {
  if (spec_.timeout.count() == 0 || !accepted_at_ || verdict_) return std::nullopt;
  return *accepted_at_ + spec_.timeout;
}

// Missed heartbeats do not end an attempt directly. The container is killed first, because the outcome may still be
// kept there and the process may still run.
std::vector<DecisionBody> Job::MissedHeartbeats(Instant now) const {
  std::vector<DecisionBody> silent;
  for (const auto& [id, task] : tasks_.all()) {
    const Attempt* attempt = task.newest();
    if (!attempt || !OwesHeartbeats(*attempt)) continue;
    const Duration silence = now - attempt->last_heard;
    if (silence >= spec_.timers.lost_after) {
      silent.push_back(ContainerKillOrdered{attempt->container});
    } else if (silence >= spec_.timers.suspect_after && !attempt->suspect) {
      silent.push_back(AttemptSuspected{attempt->id});
    }
  }
  return silent;
}

std::optional<Instant> Job::NextSilence() const {
  std::optional<Instant> next;
  for (const auto& [id, task] : tasks_.all()) {
    const Attempt* attempt = task.newest();
    if (!attempt || !OwesHeartbeats(*attempt)) continue;
    const Instant due = attempt->last_heard + (attempt->suspect ? spec_.timers.lost_after : spec_.timers.suspect_after);
    next = next ? std::min(*next, due) : due;
  }
  return next;
}

std::optional<Instant> Job::NextDeadline() const {
  std::optional<Instant> next = deadlines_.Next(/*give_up=*/!ends_are_confirmed_);
  const auto sooner = [&](const std::optional<Instant>& t) {
    if (t) next = next ? std::min(*next, *t) : *t;
  };
  if (AnyWatched()) sooner(deadlines_.silence_check());
  sooner(TimeLimit());
  if (const auto outlived = NextOutlived()) sooner(outlived->due);
  if (!verdict_) sooner(ownership_.NextDeadline());
  sooner(GangHoldDeadline());
  sooner(NextRestart());
  sooner(NextJudgement());
  sooner(ListingDue());
  return next;
}

std::string Job::Missing(bool container) const {
  std::vector<std::string> missing;
  for (const auto& [id, task] : tasks_.all()) {
    const Attempt* attempt = task.newest();
    if (!attempt || IsFinal(attempt->state)) continue;
    if (container ? attempt->container.value.empty() : !attempt->endpoint) missing.push_back(ToString(id));
  }
  constexpr size_t kNamed = 5;
  if (missing.size() <= kNamed) return Join(missing, ", ");
  const std::string more = StrCat(" and ", missing.size() - kNamed, " more");
  missing.resize(kNamed);
  return Join(missing, ", ") + more;
}

}  // namespace tony::am
