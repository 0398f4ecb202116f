// The policy of time: who is silent, what is overdue, and when to look again.
#include <algorithm>
#include <utility>

#include "am/core/job.h"
#include "runtime/base/seconds.h"
#include "runtime/base/strings.h"
#include "runtime/job/kill_rules.h"

namespace tony::am {
namespace {

Verdict TimedOut(const std::string& message) {
  return {.state = FinalState::kFailed, .cls = OutcomeClass::kTimeout, .message = message};
}

}  // namespace

// After a gap nobody could have reached this AM, or known that it rules: everybody's silence starts anew, also of those
// that were given up before. They did not know that they had to stop.
Decided Job::OnRenewed(Instant now) {
  if (now - renewed_at_ > spec_.timers.record_fresh) {
    for (auto& [id, task] : tasks_) {
      if (task.newest()) task.newest()->last_heard = now;
    }
    for (const auto& [due, id] : std::exchange(silent_, {})) GiveUpLater(*Find(id), now);
    unplaced_since_ = std::max(unplaced_since_, now);
    attention_.StartAnew(now);
  }
  renewed_at_ = now;
  silence_check_ = NextSilence();
  return {};
}

// One overdue thing at a time, so that each end is judged before the next; what else is due is still due when the shell
// asks for the next deadline.
Decided Job::OnTime(Instant now) {
  if (auto overdue = WhatIsOverdue(now)) return {.decisions = {*std::move(overdue)}};
  if (!silence_check_ || now < *silence_check_ || !AnyWatched()) return {};
  const bool ruled = now - renewed_at_ <= spec_.timers.record_fresh;
  std::vector<DecisionBody> silent = ruled ? WhoIsSilent(now) : std::vector<DecisionBody>();
  if (silent.empty()) silence_check_ = ruled ? NextSilence() : std::nullopt;
  return {.decisions = std::move(silent)};
}

std::optional<DecisionBody> Job::WhatIsOverdue(Instant now) const {
  if (!allocating_.empty() && now >= allocating_.begin()->first) {
    return JobStopping{TimedOut(StrCat("not every task got a container within ", Seconds(spec_.allocation_timeout),
                                       " (tony.container.allocation.timeout): missing ", Missing(/*container=*/true))),
                       spec_.timers.grace};
  }
  if (const auto due = GivesBackAt(); due && now >= *due) return GiveBack(now);
  if (!registering_.empty() && now >= registering_.begin()->first) {
    return JobStopping{TimedOut(LateRegistration(registering_.begin()->second)), spec_.timers.grace};
  }
  if (!publishing_.empty() && now >= publishing_.begin()->first) {
    return JobStopping{
        TimedOut(StrCat("not every task published what others wait for within ", Seconds(spec_.registration_timeout),
                        " (tony.container.registration.timeout): missing ", MissingValues())),
        spec_.timers.grace};
  }
  if (const auto limit = TimeLimit(); limit && now >= *limit) {
    return JobStopping{TimedOut(StrCat("the job ran longer than ", Seconds(spec_.timeout),
                                       " (tony.application.timeout)", WhoWasSilent(now))),
                       spec_.timers.grace};
  }
  if (const auto outlived = NextOutlived(); outlived && now >= outlived->due) return EndOf(*outlived, now);
  if (auto ending = WhatAttentionSays(now)) return ending;
  if (!stopping_.empty() && now >= stopping_.begin()->first) return ContainerKillOrdered{stopping_.begin()->second};
  if (!leaving_.empty() && now >= leaving_.begin()->first) return ContainerKillOrdered{leaving_.begin()->second};
  if (!ends_are_confirmed_ && !silent_.empty() && now >= silent_.begin()->first) {
    return AttemptEnded{silent_.begin()->second, Silence(", and nobody can say that it ended")};
  }
  return std::nullopt;
}

std::string Job::LateRegistration(const AttemptId& id) const {
  if (Find(id)->since_launch) {
    return StrCat(ToString(id.task), " did not register within ", Seconds(spec_.registry_timeout),
                  " of its container's start (", kRegistryTimeoutKey, ")");
  }
  return StrCat("not every task registered within ", Seconds(spec_.registration_timeout),
                " (tony.container.registration.timeout): missing ", Missing(/*container=*/false));
}

std::optional<DecisionBody> Job::WhatAttentionSays(Instant now) const {
  if (verdict_) return std::nullopt;
  if (const auto kill = attention_.DueKill(now)) return StopFor(*kill);
  if (!attention_.IsAbandoned(now)) return std::nullopt;
  return JobStopping{Abandoned(attention_.claim().watch_timeout), spec_.timers.grace};
}

Outcome Job::Silence(const std::string& more) const {
  return {.cls = OutcomeClass::kNodeLost,
          .message = StrCat("no heartbeat for ", Seconds(spec_.timers.lost_after), more)};
}

std::optional<Instant> Job::TimeLimit() const {
  if (spec_.timeout.count() == 0 || accepted_at_ == Instant{} || verdict_) return std::nullopt;
  return accepted_at_ + spec_.timeout;
}

// A lost attempt has not ended before its container has: the outcome may be lying there, and its process may run.
std::vector<DecisionBody> Job::WhoIsSilent(Instant now) const {
  std::vector<DecisionBody> silent;
  for (const auto& [id, task] : tasks_) {
    const Attempt* attempt = task.newest();
    if (!attempt || !IsWatched(*attempt)) continue;
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
  const auto sooner = [&](const std::optional<Instant>& t) {
    if (t) next = next ? std::min(*next, *t) : *t;
  };
  if (AnyWatched()) sooner(silence_check_);
  if (!allocating_.empty()) sooner(allocating_.begin()->first);
  if (!registering_.empty()) sooner(registering_.begin()->first);
  if (!publishing_.empty()) sooner(publishing_.begin()->first);
  sooner(TimeLimit());
  if (const auto outlived = NextOutlived()) sooner(outlived->due);
  if (!verdict_) sooner(attention_.NextDeadline());
  if (!stopping_.empty()) sooner(stopping_.begin()->first);
  if (!leaving_.empty()) sooner(leaving_.begin()->first);
  if (!ends_are_confirmed_ && !silent_.empty()) sooner(silent_.begin()->first);
  sooner(GivesBackAt());
  sooner(NextRestart());
  sooner(NextJudgement());
  sooner(ListingDue());
  return next;
}

std::string Job::Missing(bool container) const {
  std::vector<std::string> missing;
  for (const auto& [id, task] : tasks_) {
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
