#include "tests/sim/request_actors.h"

#include "runtime/base/check.h"
#include "runtime/base/strings.h"
#include "runtime/records/request_index.h"

namespace tony::sim {
namespace {

constexpr Duration kComingLimit{10'000};

SubmitAsk AskOf(const PlannedSubmit& submit, RequestFlaw flaw) {
  SubmitAsk ask = submit.ask;
  const bool person = ask.asker == SubmitterKind::kPerson;
  if (flaw == RequestFlaw::kTakesAllForFirst && !person) ask.asker = SubmitterKind::kFirstTry;
  if (flaw == RequestFlaw::kTakesAllForLater) ask.asker = SubmitterKind::kLaterTry;
  if (flaw == RequestFlaw::kTakesPersonForFirst && person) ask.asker = SubmitterKind::kFirstTry;
  return ask;
}

}  // namespace

bool RequestStore::IsRevoked(const OwnerToken& owner, Instant now) const {
  const auto found = revoked_until.find(owner);
  return found != revoked_until.end() && now < found->second;
}

RequestRecord RequestStore::Read() const {
  RequestRecord read = record.value_or(RequestRecord{});
  read.revision = revision;
  read.coming = {};
  if (!read.job || jobs.contains(*read.job)) return read;
  if (!uploaded_records.contains(*read.job)) return WithoutItsJob(read);
  RequestRecord without = read.before ? WithoutItsJob(read) : RequestRecord{.newest_number = read.newest_number};
  without.revision = revision;
  without.coming = read.job;
  return without;
}

RequestJob* RequestStore::Newest() const {
  const RequestRecord read = Read();
  if (!read.job) return nullptr;
  const auto found = jobs.find(*read.job);
  return found == jobs.end() ? nullptr : found->second.get();
}

SubmitActor::SubmitActor(RequestStage& stage, RequestStore& store, const RequestPlan& plan, int number, Random random)
    : stage_(stage),
      store_(store),
      plan_(plan),
      submit_(plan.submits[static_cast<size_t>(number)]),
      number_(number),
      random_(random),
      course_(AskOf(submit_, stage.flaw), submit_.claim.owner, JobId{StrCat("j", number)}) {}

void SubmitActor::Begin() {
  stage_.timeline.After(submit_.at, [this] {
    stage_.Record({.kind = RequestEventKind::kSubmitBegan, .actor = number_});
    Step();
  });
}

void SubmitActor::Step() {
  if (submit_.dies_after >= 0 && taken_ >= submit_.dies_after) return Die();
  const auto seen = Do(course_.step());
  if (gave_way_) return Die();
  if (seen) {
    ++taken_;
    course_.Take(*seen);
    if (course_.step().kind == SubmitStepKind::kDone) return End();
  }
  stage_.timeline.After(Pause(), [this] { Step(); });
}

// Steps take milliseconds, except if the machine is busy or suspended.
Duration SubmitActor::Pause() {
  const int64_t kind = random_.Between(0, 99);
  const bool prepares = course_.step().kind == SubmitStepKind::kPrepare;
  if (prepares) return random_.Between(Duration(0), Duration(kind < 50 ? 500 : 20'000));
  return random_.Between(Duration(0), Duration(kind < 70 ? 30 : kind < 98 ? 2'000 : 60'000));
}

void SubmitActor::Die() {
  if (store_.lock_holder == number_) store_.lock_holder.reset();
  stage_.Record({.kind = RequestEventKind::kSubmitDied, .actor = number_});
}

void SubmitActor::End() {
  const SubmitStep& step = course_.step();
  stage_.Record({.kind = RequestEventKind::kSubmitEnded, .actor = number_, .job = step.job, .end = step.end});
}

std::optional<SubmitObservation> SubmitActor::Do(const SubmitStep& step) {
  switch (step.kind) {
    case SubmitStepKind::kLock:
      return Lock();
    case SubmitStepKind::kRead:
      return Read();
    case SubmitStepKind::kRecord:
      return Record(step.record);
    case SubmitStepKind::kUnlock:
      if (store_.lock_holder == number_) store_.lock_holder.reset();
      return StepDone{};
    case SubmitStepKind::kPrepare:
      return Prepare(step.only_for_report);
    case SubmitStepKind::kCreate:
      return Create(step.job);
    case SubmitStepKind::kAttach:
      return Attach(step.job);
    case SubmitStepKind::kReadRevocation:
      return RevocationSeen{stage_.flaw != RequestFlaw::kOverlooksRevocation &&
                            store_.IsRevoked(submit_.claim.owner, stage_.now())};
    case SubmitStepKind::kKill:
      Kill(step);
      return StepDone{};
    case SubmitStepKind::kAwaitGone:
      if (stage_.flaw != RequestFlaw::kSeesAllGone && !store_.jobs.at(step.job)->gone()) return std::nullopt;
      return StepDone{};
    case SubmitStepKind::kStart:
      if (held_back_) Keep(*std::exchange(held_back_, std::nullopt));
      store_.jobs.at(step.job)->Start();
      return StepDone{};
    case SubmitStepKind::kDone:
      break;
  }
  CHECK(false);
}

std::optional<SubmitObservation> SubmitActor::Lock() {
  if (stage_.flaw == RequestFlaw::kTakesNoLock || !plan_.has_lock) return StepDone{};
  if (store_.lock_holder) return std::nullopt;
  store_.lock_holder = number_;
  return StepDone{};
}

std::optional<SubmitObservation> SubmitActor::Read() {
  RequestSeen seen;
  seen.record = store_.Read();
  if (seen.record.coming && !waits_since_) waits_since_ = stage_.now();
  if (seen.record.coming && stage_.now() - *waits_since_ < kComingLimit) return std::nullopt;
  waits_since_.reset();
  stage_.Record({.kind = RequestEventKind::kRead, .actor = number_, .record = seen.record});
  if (const RequestJob* job = store_.Newest()) {
    seen.existing = job->Existing();
    seen.gone = job->gone() || stage_.flaw == RequestFlaw::kSeesAllGone;
  }
  if (seen.existing == ExistingJob::kSucceeded && stage_.flaw == RequestFlaw::kOverlooksSuccess)
    seen.existing = ExistingJob::kEnding;
  seen.revoked = store_.IsRevoked(submit_.claim.owner, stage_.now());
  seen.consumed = seen.record.job && store_.consumed.contains(*seen.record.job);
  if (stage_.flaw == RequestFlaw::kOverlooksAck) seen.consumed = false;
  if (stage_.flaw == RequestFlaw::kOverlooksDigest) seen.record.digest = {};
  if (stage_.flaw == RequestFlaw::kOverlooksRun) seen.record.run = {};
  return seen;
}

// The sources of a job that was found may have been removed.
SubmitObservation SubmitActor::Prepare(bool only_for_report) {
  if (only_for_report && random_.Chance(200)) return PreparedSeen{};
  return PreparedSeen{DigestOf(submit_)};
}

std::optional<SubmitObservation> SubmitActor::Record(const RequestRecord& record) {
  const bool is_own = record.job == JobId{StrCat("j", number_)};
  if (!plan_.has_lock && is_own && !store_.jobs.contains(*record.job)) store_.uploaded_records.insert(*record.job);
  if (!plan_.has_lock && record.coming && record.job != record.coming && stage_.flaw != RequestFlaw::kGivesNothingUp) {
    if (store_.jobs.contains(*record.coming)) return RecordSeen{false};
    // the record is written a little later
    if (store_.uploaded_records.erase(*record.coming) > 0) return std::nullopt;
  }
  if (!plan_.has_lock && record.revision != store_.revision && stage_.flaw != RequestFlaw::kComparesNothing)
    return RecordSeen{false};
  Keep(record);
  return RecordSeen{true};
}

void SubmitActor::Keep(RequestRecord record) {
  if (stage_.flaw == RequestFlaw::kRecordsNoDigest) record.digest = {};
  if (stage_.flaw == RequestFlaw::kRecordsNoRun) record.run = {};
  const bool raises = store_.Read().job == record.job;
  if (raises && stage_.flaw == RequestFlaw::kRaisesNoNumber) return;
  if (!raises && stage_.flaw == RequestFlaw::kRecordsAfterCreate && !store_.jobs.contains(*record.job)) {
    held_back_ = record;
    return;
  }
  store_.record = record;
  ++store_.revision;
  stage_.Record({.kind = RequestEventKind::kRecorded, .actor = number_, .record = record});
}

std::optional<SubmitObservation> SubmitActor::Create(const JobId& job) {
  gave_way_ = !plan_.has_lock && store_.uploaded_records.erase(job) == 0;
  if (gave_way_) return std::nullopt;
  const JobNature nature = NatureFor(random_.Next());
  store_.jobs[job] = std::make_unique<RequestJob>(stage_, job, submit_.claim, nature, plan_.kill_shows_in_files);
  stage_.Record({.kind = RequestEventKind::kJobMade, .actor = number_, .job = job});
  return StepDone{};
}

std::optional<SubmitObservation> SubmitActor::Attach(const JobId& job) {
  RequestJob& existing = *store_.jobs.at(job);
  existing.Start();
  if (!existing.answers()) return std::nullopt;
  return existing.Attach(submit_.claim, number_);
}

void SubmitActor::Kill(const SubmitStep& step) {
  if (!step.own && stage_.flaw == RequestFlaw::kReplacesWithoutKill) return;
  KillRequest request;
  if (step.own) request.if_owner = submit_.claim.owner;
  store_.jobs.at(step.job)->Kill(request, number_);
}

KillActor::KillActor(RequestStage& stage, RequestStore& store, const PlannedKill& plan, int number, Random random)
    : stage_(stage), store_(store), plan_(plan), actor_(kFirstKill + number), random_(random) {
  steps_ = {&KillActor::Look};
  if (!plan.by_request || plan.if_owner.value.empty() || MayBeVoid()) return;
  steps_.push_back(&KillActor::Revoke);
  if (stage.flaw == RequestFlaw::kRevokesLast) std::swap(steps_.front(), steps_.back());
}

void KillActor::Begin() {
  stage_.timeline.After(plan_.at, [this] {
    request_.if_owner = plan_.if_owner;
    request_.if_watcher = plan_.if_watcher;
    if (plan_.delay > Duration(0)) request_.due = stage_.now() + plan_.delay;
    Step();
  });
}

void KillActor::Step() {
  if (plan_.dies_after >= 0 && taken_ >= plan_.dies_after) return;
  if (steps_.empty()) return End();
  ++taken_;
  const auto step = steps_.back();
  steps_.pop_back();
  (this->*step)();
  stage_.timeline.After(random_.Between(Duration(0), Duration(random_.Chance(700) ? 30 : 2'000)), [this] { Step(); });
}

// Such a kill leaves a running job alive for now, and revokes the owner only if the owner has no job.
bool KillActor::MayBeVoid() const { return plan_.delay > Duration(0) || !plan_.if_watcher.value.empty(); }

void KillActor::Revoke() {
  revoked_ = true;
  store_.revoked_until[plan_.if_owner] = stage_.now() + kRevocationLasts;
  stage_.Record({.kind = RequestEventKind::kRevoked, .actor = actor_, .request = request_});
}

void KillActor::Look() {
  RequestJob* job = store_.Newest();
  if (!plan_.by_request && !store_.jobs.empty()) {
    const auto last = static_cast<int64_t>(store_.jobs.size()) - 1;
    job = std::next(store_.jobs.begin(), random_.Between(0, last))->second.get();
  }
  const auto answer = job ? job->Kill(request_, actor_) : std::nullopt;
  const bool has_none = !job || (answer == KillAnswer::kFenced && job->owner() != plan_.if_owner);
  if (has_none && plan_.by_request && MayBeVoid() && !plan_.if_owner.value.empty() && !revoked_)
    steps_ = {&KillActor::Look, &KillActor::Revoke};
}

void KillActor::End() { stage_.Record({.kind = RequestEventKind::kKillDone, .actor = actor_, .request = request_}); }

}  // namespace tony::sim
