#include "tests/sim/request_job.h"

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/result.h"

namespace tony::sim {

ExistingJob RequestJob::Existing() const {
  const bool succeeded = final_state_ == FinalState::kSucceeded;
  switch (state_) {
    case State::kMade:
    case State::kStarting:
    case State::kRunning: {
      const bool killed = std::ranges::any_of(files_, [](const Asked& asked) { return asked.request.IsPlain(); });
      return killed && kill_shows_ ? ExistingJob::kEnding : ExistingJob::kActive;
    }
    case State::kStopping:
      return succeeded || stage_.now() < stopping_since_ + nature_.stale ? ExistingJob::kActive : ExistingJob::kEnding;
    case State::kEnded:
    case State::kGone:
      return succeeded ? ExistingJob::kSucceeded : ExistingJob::kEnding;
  }
  CHECK(false);
}

void RequestJob::Start() {
  if (state_ != State::kMade) return;
  state_ = State::kStarting;
  After(nature_.start, &RequestJob::AmComes);
}

void RequestJob::AmComes() {
  if (state_ >= State::kEnded) return;
  am_up_ = true;
  attention_.RestartWatchTimeout(stage_.now());
  if (!attention_.claimed()) Apply({OwnerChanged{submitters_}});
  for (const Asked& asked : std::exchange(files_, {})) {
    if (stage_.flaw != RequestFlaw::kForgetsRequests) Answer(asked);
  }
  if (state_ == State::kStarting) Begin();
  if (state_ == State::kRunning && run_out_) EndByItself();
  CheckTimes();
}

void RequestJob::AmGoes() {
  am_up_ = false;
  After(nature_.am_down_for, &RequestJob::AmComes);
}

void RequestJob::Begin() {
  Enter(State::kRunning, RequestEventKind::kBegan);
  After(nature_.run, &RequestJob::EndByItself);
  if (nature_.am_down_for > Duration(0)) After(nature_.am_down_at, &RequestJob::AmGoes);
}

void RequestJob::EndByItself() {
  run_out_ = true;
  if (state_ == State::kRunning && am_up_) Stop(nature_.end, EndCause::kItself, {});
}

void RequestJob::Stop(FinalState state, EndCause cause, const Asked& asked) {
  const bool ran = state_ == State::kRunning;
  state_ = State::kStopping;
  stopping_since_ = stage_.now();
  final_state_ = state;
  stage_.Record({.kind = RequestEventKind::kStopping,
                 .actor = asked.actor,
                 .job = id_,
                 .request = asked.request,
                 .cause = cause,
                 .final_state = state});
  stage_.timeline.After(ran ? nature_.stop : Duration(1), [this] {
    Enter(State::kEnded, RequestEventKind::kEnded);
    stage_.timeline.After(nature_.sweep, [this] { Enter(State::kGone, RequestEventKind::kGone); });
  });
}

void RequestJob::Enter(State state, RequestEventKind kind) {
  state_ = state;
  stage_.Record({.kind = kind, .job = id_, .final_state = final_state_});
}

AttachSeen RequestJob::Attach(const Claim& claim, int actor) {
  CHECK(answers());
  if (state_ >= State::kEnded) return {.ended = final_state_ == FinalState::kSucceeded};
  if (state_ == State::kStopping && final_state_ != FinalState::kSucceeded) return {};
  stage_.Record({.kind = RequestEventKind::kAttached, .actor = actor, .job = id_});
  Apply(attention_.DecideAttach(claim));
  Apply(attention_.DecideClientSeen({}, stage_.now()));
  CheckTimes();
  return {.attached = true};
}

void RequestJob::Look(const WatcherToken& watcher) {
  CHECK(answers());
  if (state_ != State::kRunning) return;
  stage_.Record({.kind = RequestEventKind::kLooked, .job = id_, .watcher = watcher});
  Apply(attention_.DecideClientSeen(watcher, stage_.now()));
  CheckTimes();
}

std::optional<KillAnswer> RequestJob::Kill(const KillRequest& request, int actor) {
  stage_.Record({.kind = RequestEventKind::kKillAsked, .actor = actor, .job = id_, .request = request});
  if (answers()) return Answer({request, actor});
  files_.push_back({request, actor});
  return std::nullopt;
}

KillAnswer RequestJob::Answer(const Asked& asked) {
  const size_t at = stage_.history.events.size();
  const KillAnswer answer = Decide(asked);
  // Events that the answer causes come after the answer in the history.
  RequestEvent event{.kind = RequestEventKind::kKillAnswered,
                     .actor = asked.actor,
                     .job = id_,
                     .request = asked.request,
                     .answer = answer,
                     .time = stage_.now()};
  stage_.history.events.insert(stage_.history.events.begin() + static_cast<std::ptrdiff_t>(at), event);
  CheckTimes();
  return answer;
}

KillAnswer RequestJob::Decide(const Asked& asked) {
  if (state_ >= State::kStopping)
    return final_state_ == FinalState::kKilled && state_ == State::kStopping ? KillAnswer::kTaken : KillAnswer::kEnded;
  if (stage_.flaw != RequestFlaw::kIgnoresFence &&
      attention_.Judge(asked.request, asked.request.due) == KillAnswer::kFenced)
    return KillAnswer::kFenced;
  if (asked.request.due > stage_.now()) {
    Apply(attention_.DecidePlan(asked.request));
    return KillAnswer::kPlanned;
  }
  Stop(FinalState::kKilled, EndCause::kKill, asked);
  return KillAnswer::kTaken;
}

void RequestJob::CheckTimes() {
  if (state_ != State::kRunning || !am_up_) return;
  auto due = attention_.DueKill(stage_.now());
  // the flaw also skips the next check
  if (stage_.flaw == RequestFlaw::kForgetsToVoid) due = attention_.NextPlanned();
  if (due && due->due <= stage_.now()) return Stop(FinalState::kKilled, EndCause::kKill, {*due});
  if (attention_.IsAbandoned(stage_.now())) return Stop(FinalState::kKilled, EndCause::kAbandoned, {});
  if (const auto next = attention_.NextDeadline()) stage_.timeline.At(*next, [this] { CheckTimes(); });
}

void RequestJob::Apply(const std::vector<DecisionBody>& decisions) {
  for (const DecisionBody& decision : decisions) {
    if (stage_.flaw == RequestFlaw::kForgetsToVoid && std::holds_alternative<KillVoided>(decision)) continue;
    const Status applied = std::visit(
        Overloaded{[&](const OwnerChanged& d) { return attention_.Apply(d); },
                   [&](const WatcherChanged& d) { return attention_.Apply(d); },
                   [&](const KillPlanned& d) { return attention_.Apply(d); },
                   [&](const KillVoided& d) { return attention_.Apply(d); }, [](const auto&) { return Ok(); }},
        decision);
    CHECK(applied.ok());
  }
}

}  // namespace tony::sim
