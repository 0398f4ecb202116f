#include "runtime/records/submit_machine.h"

#include <array>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/result.h"

namespace tony {

std::vector<std::string> DifferingParts(const SubmitDigest& a, const SubmitDigest& b) {
  std::vector<std::string> names;
  for (const auto& [name, hash] : a.parts) {
    const auto other = b.parts.find(name);
    if (other != b.parts.end() && other->second != hash) names.push_back(name);
  }
  return names;
}

namespace {

constexpr std::array<std::pair<OnExisting, std::string_view>, 3> kPolicyNames = {
    {{OnExisting::kAdopt, "adopt"}, {OnExisting::kAttach, "attach"}, {OnExisting::kNever, "never"}}};

bool IsOfAnotherRun(const KnownRequest& known, const SubmitAsk& ask) {
  return !ask.run.value.empty() && !known.run.value.empty() && ask.run != known.run;
}

SubmitterKind RequesterOf(const KnownRequest& known, const SubmitAsk& ask) {
  return ask.asker == SubmitterKind::kLaterTry && IsOfAnotherRun(known, ask) ? SubmitterKind::kFirstTry : ask.asker;
}

SubmitDecision OnActive(const KnownRequest& known, const SubmitAsk& ask) {
  if (ask.number != known.job_number || ask.on_existing == OnExisting::kNever) return SubmitDecision::kReplace;
  const SubmitterKind asker = RequesterOf(known, ask);
  if (!known.differs || asker == SubmitterKind::kLaterTry) return SubmitDecision::kAttach;
  return asker == SubmitterKind::kFirstTry ? SubmitDecision::kReplace : SubmitDecision::kRefuseDiffers;
}

SubmitDecision OnSucceeded(const KnownRequest& known, const SubmitAsk& ask) {
  if (ask.number != known.job_number || ask.on_existing != OnExisting::kAdopt) return SubmitDecision::kCreate;
  if (IsOfAnotherRun(known, ask)) return SubmitDecision::kCreate;
  if (known.consumed && ask.asker == SubmitterKind::kFirstTry) return SubmitDecision::kCreate;
  if (ask.asker == SubmitterKind::kLaterTry && !known.consumed) return SubmitDecision::kAdopt;
  return known.differs ? SubmitDecision::kCreate : SubmitDecision::kAdopt;
}

}  // namespace

std::string_view ToString(OnExisting policy) {
  for (const auto& [named, name] : kPolicyNames)
    if (named == policy) return name;
  CHECK(false);
}

std::optional<OnExisting> OnExistingFromString(std::string_view text) {
  for (const auto& [policy, name] : kPolicyNames)
    if (name == text) return policy;
  return std::nullopt;
}

SubmitDecision DecideSubmit(const KnownRequest& known, const SubmitAsk& ask) {
  if (ask.number < known.newest_number) return SubmitDecision::kRefuseStale;
  if (known.revoked) return SubmitDecision::kRefuseRevoked;
  switch (known.existing) {
    case ExistingJob::kNone:
    case ExistingJob::kEnding:
      return SubmitDecision::kCreate;
    case ExistingJob::kActive:
      return OnActive(known, ask);
    case ExistingJob::kSucceeded:
      return OnSucceeded(known, ask);
  }
  CHECK(false);
}

bool DigestDecides(const KnownRequest& known, const SubmitAsk& ask) {
  KnownRequest same = known, other = known;
  same.differs = false;
  other.differs = true;
  return DecideSubmit(same, ask) != DecideSubmit(other, ask);
}

namespace {

// Returns the index of the alternative of SubmitObservation that answers this kind of step.
size_t AnswerOf(SubmitStepKind kind) {
  switch (kind) {
    case SubmitStepKind::kRead:
      return 1;
    case SubmitStepKind::kAttach:
      return 2;
    case SubmitStepKind::kReadRevocation:
      return 3;
    case SubmitStepKind::kPrepare:
      return 4;
    case SubmitStepKind::kRecord:
      return 5;
    case SubmitStepKind::kLock:
    case SubmitStepKind::kUnlock:
    case SubmitStepKind::kCreate:
    case SubmitStepKind::kKill:
    case SubmitStepKind::kAwaitGone:
    case SubmitStepKind::kStart:
    case SubmitStepKind::kDone:
      return 0;
  }
  CHECK(false);
}

SubmitStep OfJob(SubmitStepKind kind, const JobId& job) { return {.kind = kind, .job = job}; }

}  // namespace

std::string_view ToString(SubmitStepKind kind) {
  static constexpr std::string_view kNames[] = {"lock",    "read",       "record", "unlock",
                                                "prepare", "create",     "attach", "read_revocation",
                                                "kill",    "await_gone", "start",  "done"};
  return kNames[static_cast<size_t>(kind)];
}

std::string_view ToString(SubmitEnd end) {
  static constexpr std::string_view kNames[] = {"created",       "attached",        "adopted",
                                                "refused_stale", "refused_revoked", "refused_differs"};
  return kNames[static_cast<size_t>(end)];
}

RequestRecord WithoutItsJob(const RequestRecord& record) {
  if (!record.before) return record;
  const RequestRecord::Predecessor& before = *record.before;
  RequestRecord without{record.newest_number, before.job, before.number, before.adopter, before.digest, before.run};
  without.revision = record.revision;
  return without;
}

SubmitMachine::SubmitMachine(SubmitAsk ask, OwnerToken owner, JobId new_job)
    : ask_(ask), owner_(std::move(owner)), new_job_(std::move(new_job)) {
  Plan({.kind = SubmitStepKind::kRead});
}

void SubmitMachine::Take(const SubmitObservation& seen) {
  CHECK(step_.kind != SubmitStepKind::kDone && seen.index() == AnswerOf(step_.kind));
  if (step_.kind == SubmitStepKind::kKill && !step_.own) first_hand_ = {step_.job, ExistingJob::kEnding};
  std::visit(Overloaded{[](const StepDone&) {}, [&](const RequestSeen& s) { Decide(s); },
                        [&](const AttachSeen& s) { Hear(s); }, [&](const RevocationSeen& s) { Hear(s); },
                        [&](const PreparedSeen& s) { Hear(s); }, [&](const RecordSeen& s) { Hear(s); }},
             seen);
  CHECK(!ahead_.empty());
  step_ = std::move(ahead_.front());
  ahead_.pop_front();
}

void SubmitMachine::Decide(const RequestSeen& seen) {
  const RequestRecord& record = seen.record;
  const JobId job = record.job.value_or(JobId{});
  const ExistingJob existing = Existing(seen);
  record_ = record;
  KnownRequest known = {.newest_number = record.newest_number,
                        .existing = existing,
                        .job_number = record.job_number,
                        .revoked = seen.revoked,
                        .consumed = seen.consumed,
                        .run = record.run};
  if (!prepared_ && DigestDecides(known, ask_)) return PrepareToDecide();
  known.differs = !DifferingParts(digest_, record.digest).empty();
  switch (DecideSubmit(known, ask_)) {
    case SubmitDecision::kRefuseStale:
      return PlanEnd(SubmitEnd::kRefusedStale, {});
    case SubmitDecision::kRefuseRevoked:
      return PlanEnd(SubmitEnd::kRefusedRevoked, {});
    case SubmitDecision::kRefuseDiffers:
      return PlanEnd(SubmitEnd::kRefusedDiffers, job);
    case SubmitDecision::kAdopt: {
      RequestRecord adopted = record;
      adopted.adopter = owner_;
      PlanRecordWithRun(adopted);
      return PlanFound(SubmitEnd::kAdopted, job);
    }
    case SubmitDecision::kAttach:
      return Plan(OfJob(SubmitStepKind::kAttach, job));
    case SubmitDecision::kReplace:
      return PlanToRemoveOldJob(seen, /*kill=*/true);
    case SubmitDecision::kCreate:
      // The old job is removed first, because its last processes must not run at the same time as the new job.
      if (!prepared_ || (existing != ExistingJob::kNone && !seen.gone)) return PlanToRemoveOldJob(seen, /*kill=*/false);
      return Create(seen);
  }
}

ExistingJob SubmitMachine::Existing(const RequestSeen& seen) const {
  const bool known = first_hand_ && seen.record.job == first_hand_->job;
  return known && seen.existing == ExistingJob::kActive ? first_hand_->existing : seen.existing;
}

// Plans the steps that record and create the new job. The submit is not stale here, so its number is the newest.
void SubmitMachine::Create(const RequestSeen& seen) {
  RequestRecord record = {.newest_number = ask_.number,
                          .job = new_job_,
                          .job_number = ask_.number,
                          .digest = digest_,
                          .run = ask_.run,
                          .revision = seen.record.revision,
                          .coming = seen.record.coming};
  if (Existing(seen) == ExistingJob::kSucceeded)
    record.before = {*seen.record.job, seen.record.job_number, seen.record.adopter, seen.record.digest,
                     seen.record.run};
  Plan({.kind = SubmitStepKind::kRecord, .record = record});
  Plan(OfJob(SubmitStepKind::kCreate, new_job_));
  Plan(OfJob(SubmitStepKind::kReadRevocation, new_job_));
}

void SubmitMachine::PrepareToDecide() {
  PlanNumber();
  Plan({.kind = SubmitStepKind::kUnlock});
  Plan({.kind = SubmitStepKind::kPrepare});
  Plan({.kind = SubmitStepKind::kLock});
  Plan({.kind = SubmitStepKind::kRead});
}

// Plans the steps that remove the old job, and then decides again. A kill is recorded under the lock, because otherwise
// another submit could attach to the job after the decision. Slow steps are taken without the lock.
void SubmitMachine::PlanToRemoveOldJob(const RequestSeen& seen, bool kill) {
  PlanNumber();
  const bool runs = seen.existing != ExistingJob::kNone && !seen.gone;
  if (kill) {
    SubmitStep step = OfJob(SubmitStepKind::kKill, *seen.record.job);
    step.differs_in = DifferingParts(digest_, record_.digest);
    Plan(std::move(step));
  }
  Plan({.kind = SubmitStepKind::kUnlock});
  if (!prepared_) Plan({.kind = SubmitStepKind::kPrepare});
  if (kill || runs) Plan(OfJob(SubmitStepKind::kAwaitGone, *seen.record.job));
  Plan({.kind = SubmitStepKind::kLock});
  Plan({.kind = SubmitStepKind::kRead});
}

void SubmitMachine::Hear(const AttachSeen& seen) {
  if (seen.attached) {
    PlanRecordWithRun(record_);
    return Plan(OfJob(SubmitStepKind::kReadRevocation, step_.job));
  }
  first_hand_ = {step_.job, seen.ended ? ExistingJob::kSucceeded : ExistingJob::kEnding};
  Plan({.kind = SubmitStepKind::kRead});
}

void SubmitMachine::Hear(const RevocationSeen& seen) {
  const bool created = step_.job == new_job_;
  SubmitStep kill = OfJob(SubmitStepKind::kKill, step_.job);
  kill.own = true;
  if (seen.revoked) Plan(std::move(kill));
  if (created) Plan(OfJob(SubmitStepKind::kStart, step_.job));
  if (seen.revoked) return PlanEnd(SubmitEnd::kRefusedRevoked, {});
  if (created) return PlanEnd(SubmitEnd::kCreated, step_.job);
  PlanFound(SubmitEnd::kAttached, step_.job);
}

void SubmitMachine::Hear(const PreparedSeen& seen) {
  prepared_ = true;
  digest_ = seen.digest;
  if (found_as_) Plan(Done(*found_as_, step_.job));
}

void SubmitMachine::Hear(const RecordSeen& seen) {
  if (seen.written) return;
  ahead_.clear();
  found_as_.reset();
  Plan({.kind = SubmitStepKind::kRead});
}

void SubmitMachine::PlanRecord(const RequestRecord& changed) {
  if (changed != record_) Plan({.kind = SubmitStepKind::kRecord, .record = changed});
}

// Records that the job belongs to this submit's run from now on.
void SubmitMachine::PlanRecordWithRun(RequestRecord taken) {
  if (!ask_.run.value.empty()) taken.run = ask_.run;
  PlanRecord(taken);
}

void SubmitMachine::PlanNumber() {
  RequestRecord raised = record_;
  raised.newest_number = ask_.number;
  PlanRecord(raised);
}

void SubmitMachine::PlanEnd(SubmitEnd end, const JobId& job) {
  Plan({.kind = SubmitStepKind::kUnlock});
  Plan(Done(end, job));
}

// Ends with a job that another submit made. If the submit is not prepared yet, it still unlocks and prepares, only to
// report in which parts the job differs.
void SubmitMachine::PlanFound(SubmitEnd end, const JobId& job) {
  if (prepared_) return PlanEnd(end, job);
  found_as_ = end;
  Plan({.kind = SubmitStepKind::kUnlock});
  SubmitStep prepare = OfJob(SubmitStepKind::kPrepare, job);
  prepare.only_for_report = true;
  Plan(std::move(prepare));
}

SubmitStep SubmitMachine::Done(SubmitEnd end, const JobId& job) const {
  SubmitStep step = {.kind = SubmitStepKind::kDone, .job = job, .end = end};
  if (end != SubmitEnd::kCreated && !job.value.empty()) step.differs_in = DifferingParts(digest_, record_.digest);
  return step;
}

}  // namespace tony
