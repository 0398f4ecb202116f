#include "tests/sim/journal_rules.h"

#include <algorithm>

#include "runtime/base/strings.h"

namespace tony::sim {

void JournalRules::Read(const am::Decision& decision) {
  if (job_ended_ && !std::holds_alternative<am::EpochBegan>(decision.body)) {
    Complain(StrCat(Name(decision), " after the end of the job"));
  }
  const bool may_come_between = std::holds_alternative<am::EpochBegan>(decision.body) ||
                                std::holds_alternative<am::ContainerEnded>(decision.body) ||
                                std::holds_alternative<am::JobStopping>(decision.body);
  const bool is_due = culprit_ || TrackedSuccesses() == spec_.TrackedTasks();
  if (is_due && !verdict_ && !may_come_between) Complain(StrCat(Name(decision), " although the job has to stop"));
  std::visit([&](const auto& body) { On(body, decision.time); }, decision.body);
}

const Outcome* JournalRules::OutcomeOf(const AttemptId& attempt) const {
  const auto found = outcomes_.find(attempt);
  return found == outcomes_.end() ? nullptr : &found->second;
}

void JournalRules::On(const am::EpochBegan& d, Instant) {
  if (d.epoch <= epoch_) Complain(StrCat("epoch ", d.epoch.value, " after ", epoch_.value));
  epoch_ = d.epoch;
}

void JournalRules::On(const am::JobAccepted&, Instant time) {
  if (accepted_) Complain("the job was accepted twice");
  accepted_ = time;
}

void JournalRules::On(const am::ContainersRequested& d, Instant) {
  for (const AttemptId& attempt : d.attempts) {
    if (!attempts_.insert(attempt).second) Complain(ToString(attempt) + " was made twice");
  }
}

void JournalRules::On(const am::ContainerAssigned& d, Instant) {
  if (!assigned_.emplace(d.container, d.attempt).second) Complain(d.container.value + " was assigned twice");
}

void JournalRules::On(const am::GenerationFormed& d, Instant) {
  if (d.generation != generation_.Next()) Complain(StrCat("generation ", d.generation.value));
  generation_ = d.generation;
}

void JournalRules::On(const am::AttemptEnded& d, Instant) {
  if (!attempts_.contains(d.attempt)) Complain(ToString(d.attempt) + " ended and never was");
  if (!outcomes_.emplace(d.attempt, d.outcome).second) Complain(ToString(d.attempt) + " ended twice");
  if (!verdict_) Judge(d.attempt, d.outcome);
}

void JournalRules::On(const am::ContainerKillOrdered& d, Instant) { kill_ordered_.insert(d.container); }

void JournalRules::On(const am::ContainerEnded& d, Instant) {
  if (!assigned_.contains(d.container) || !gone_.insert(d.container).second) {
    Complain(d.container.value + " ended twice or never was");
  }
}

// A sidecar's failure counts only as long as the gang waits for it; any end does then.
void JournalRules::Judge(const AttemptId& attempt, const Outcome& outcome) {
  const Completion completion = spec_.FindRole(attempt.task.role)->completion;
  const bool matters = generation_.value == 0 || completion != Completion::kSidecar;
  const bool is_bad = generation_.value == 0 || !outcome.Succeeded();
  if (matters && is_bad && !culprit_) culprit_ = attempt;
}

int JournalRules::TrackedSuccesses() const {
  return static_cast<int>(std::ranges::count_if(outcomes_, [&](const auto& entry) {
    return entry.second.Succeeded() && spec_.FindRole(entry.first.task.role)->completion == Completion::kTracked;
  }));
}

bool JournalRules::IsOverdue(Instant time) const {
  if (!accepted_) return false;
  const Duration age = time - *accepted_;
  return (spec_.timeout.count() > 0 && age >= spec_.timeout) ||
         (generation_.value == 0 && age >= spec_.registration_timeout);
}

void JournalRules::On(const am::JobStopping& d, Instant time) {
  if (verdict_) Complain("a second verdict");
  verdict_ = d.verdict;
  const FinalState state = d.verdict.state;
  if (culprit_) {
    const bool right = state == FinalState::kFailed && d.verdict.attempt == culprit_ &&
                       d.verdict.cls == outcomes_.at(*culprit_).cls && d.verdict.exit == outcomes_.at(*culprit_).exit;
    if (!right) Complain(StrCat(ToString(state), ": ", d.verdict.message, "; but ", ToString(*culprit_), " failed"));
    return;
  }
  const bool all_good = TrackedSuccesses() == spec_.TrackedTasks();
  if (all_good != (state == FinalState::kSucceeded)) {
    Complain(StrCat(ToString(state), " with ", TrackedSuccesses(), " of ", spec_.TrackedTasks(), " successes"));
  }
  if (state == FinalState::kFailed && !(d.verdict.cls == OutcomeClass::kTimeout && IsOverdue(time))) {
    Complain("FAILED without a reason: " + d.verdict.message);
  }
}

void JournalRules::On(const am::JobEnded&, Instant) {
  job_ended_ = true;
  if (!verdict_) Complain("the job ended without a verdict");
  for (const AttemptId& attempt : attempts_) {
    if (!outcomes_.contains(attempt)) Complain(ToString(attempt) + " has no outcome at the end of the job");
  }
  for (const auto& [container, attempt] : assigned_) {
    if (!gone_.contains(container)) Complain(container.value + " is held at the end of the job");
  }
}

}  // namespace tony::sim
