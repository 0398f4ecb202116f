#include "runtime/client/submit_steps.h"

#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/strings.h"
#include "runtime/client/job_access.h"
#include "runtime/client/job_digest.h"

namespace tony {
namespace {

// Each holder of the lock has it for the time of some calls; one whose AM hangs, for kAttachLimit.
constexpr Duration kLockLimit{120'000};
constexpr Duration kLockTry{100};  // between two looks at what signals have come
constexpr Duration kAttachLimit{30'000};
// Beyond the grace of the tasks of a job that is being ended: for AM and keeper, also on a machine that pages.
constexpr Duration kGoneLimit{60'000};
constexpr Duration kGonePause{20};
// Longer than all the calls may take by which a job that is recorded becomes one.
constexpr Duration kComingLimit{10'000};
constexpr Duration kComingPause{200};

Result<SubmitObservation> Taken(const Status& status) {
  if (!status.ok()) return status.error();
  return SubmitObservation(StepTaken());
}

}  // namespace

CourseSteps::CourseSteps(EventLoop& loop, Interrupts& interrupts, AmLauncher& launcher, const ClientNotes& notes,
                         const RequestedJob& asked, const Backend& backend, const JobStore& jobs,
                         const RequestIndex& index)
    : loop_(loop),
      interrupts_(interrupts),
      launcher_(launcher),
      notes_(notes),
      asked_(asked),
      request_(asked.order.request),
      claim_(asked.order.claim),
      jobs_(jobs),
      index_(index),
      maker_(loop, interrupts, asked, backend, jobs, notes) {}

Result<std::optional<SubmitStep>> CourseSteps::Walk() {
  TRY_ASSIGN(id_, jobs_.NewId(RealClock().Now()));
  maker_.UseId(id_);
  SubmitCourse course(asked_.order.ask, claim_.owner, id_);
  while (course.step().kind != SubmitStepKind::kDone) {
    TRY_ASSIGN(const SubmitObservation seen, Take(course.step()));
    if (signal_ != 0) return std::optional<SubmitStep>();
    course.Take(seen);
  }
  return std::optional(course.step());
}

Result<SubmitObservation> CourseSteps::Take(const SubmitStep& step) {
  switch (step.kind) {
    case SubmitStepKind::kLock:
      return Taken(Lock());
    case SubmitStepKind::kRead:
      return Read();
    case SubmitStepKind::kRecord:
      return Record(step.record);
    case SubmitStepKind::kUnlock:
      lock_.reset();
      return Taken(Ok());
    case SubmitStepKind::kPrepare:
      return Prepare(step.to_tell);
    case SubmitStepKind::kCreate:
      TRY(maker_.Create());
      return Taken(Ok());
    case SubmitStepKind::kAttach:
      return Attach(step.job);
    case SubmitStepKind::kReadRevocation: {
      TRY_ASSIGN(const bool revoked, IsRevoked());
      return SubmitObservation(RevocationSeen{revoked});
    }
    case SubmitStepKind::kKill:
      return Taken(Kill(step));
    case SubmitStepKind::kAwaitGone:
      return Taken(AwaitGone(step.job));
    case SubmitStepKind::kStart: {
      TRY_ASSIGN(const JobRecords records, jobs_.Find(step.job));
      return Taken(maker_.Start(records, launcher_));
    }
    case SubmitStepKind::kDone:
      break;
  }
  CHECK(false);
}

// Signals wait until the loop runs.
void CourseSteps::HeedSignals(Duration length) {
  interrupts_.Listen([this](int signal) { signal_ = signal; });
  const auto timer = loop_.After(length, [this] { loop_.Stop(); });
  loop_.Run();
  interrupts_.Listen(nullptr);
}

Status CourseSteps::Lock() {
  for (const Instant limit = loop_.Now() + kLockLimit; signal_ == 0; HeedSignals(Duration(0))) {
    auto lock = index_.Lock(request_, kLockTry);
    if (lock.ok()) {
      lock_ = *std::move(lock);
      return Ok();
    }
    if (lock.error().code != ErrorCode::kUnavailable || loop_.Now() >= limit) return lock.error();
  }
  return Ok();
}

Result<bool> CourseSteps::IsRevoked() const {
  if (claim_.owner.value.empty()) return false;
  return index_.IsRevoked(request_, claim_.owner, RealClock().Now());
}

// Another submit's job that is coming is there within the time of some calls, unless that submit has died.
Result<std::optional<RequestRecord>> CourseSteps::ReadRecord() {
  bool said = false;
  for (const Instant limit = loop_.Now() + kComingLimit;; HeedSignals(kComingPause)) {
    TRY_ASSIGN(auto record, index_.Read(request_));
    if (!record || !record->coming || record->coming == id_ || signal_ != 0 || loop_.Now() >= limit) return record;
    if (!std::exchange(said, true))
      notes_.note(StrCat("waiting for the submit that makes job ", record->coming->value));
  }
}

Result<SubmitObservation> CourseSteps::Read() {
  RequestSeen seen;
  TRY_ASSIGN(const auto record, ReadRecord());
  TRY_ASSIGN(seen.revoked, IsRevoked());
  if (record) seen.record = *record;
  TRY_ASSIGN(const auto records, FindIfThere(seen.record.job));
  if (!records) return SubmitObservation(seen);
  TRY(launcher_.Settle(*records));
  TRY_ASSIGN(const KnownStatus known, AskStatus(*records));
  bool kill_requested = false;
  if (!HasEnded(known.status)) {  // of one that a power cut has ended the request may be empty
    TRY_ASSIGN(const auto kill, records->ReadKillRequest());
    kill_requested = kill.has_value();
  }
  seen.existing = ToExisting(known.status, kill_requested);
  seen.gone = IsGone(*records, known.status);
  seen.consumed = known.acked;
  return SubmitObservation(seen);
}

// Where the job is found already, its sources need not be there any more.
Result<SubmitObservation> CourseSteps::Prepare(bool to_tell) {
  const Status staged = maker_.Stage();
  if (!staged.ok() && to_tell) {
    notes_.note(StrCat("tony: whether the job that was found is the same cannot be told: ", staged.error().message));
    return SubmitObservation(PreparedSeen());
  }
  if (!staged.ok()) return staged.error();
  signal_ = maker_.signal();
  return SubmitObservation(PreparedSeen{DigestOf(asked_.job, maker_.files().content)});
}

Result<SubmitObservation> CourseSteps::Record(const RequestRecord& record) {
  if (record.job == id_) TRY(maker_.Lay());
  if (signal_ = maker_.signal(); signal_ != 0) return SubmitObservation(RecordSeen());
  TRY_ASSIGN(const bool written, index_.Write(request_, record));
  return SubmitObservation(RecordSeen{written});
}

Result<SubmitObservation> CourseSteps::Attach(const JobId& job) {
  TRY_ASSIGN(const auto records, FindIfThere(job));
  if (!records) return SubmitObservation(AttachSeen());
  const WatchOptions options = {.attach = claim_, .limit = kAttachLimit, .patience = kKeeperPatience};
  TRY_ASSIGN(const Watched watched, WatchJob(loop_, interrupts_, *records, launcher_, notes_, options));
  signal_ = watched.signal;
  if (watched.timed_out) return Error{ErrorCode::kUnavailable, StrCat("job ", job.value, " does not answer")};
  const bool attached = watched.attached.value_or(false);
  const bool ended_well = watched.status && ToExisting(*watched.status, false) == ExistingJob::kSucceeded;
  return SubmitObservation(AttachSeen{.attached = attached, .ended = !attached && ended_well});
}

Status CourseSteps::Kill(const SubmitStep& step) {
  TRY_ASSIGN(const auto records, FindIfThere(step.job));
  if (!records) return Ok();
  if (step.own) {
    TRY(RecordKill(*records, {.reason = "its owner was told to stop before it came", .if_owner = claim_.owner}));
    return Ok();
  }
  replaced_ = KillRequest{.reason = StrCat("replaced by submission ", asked_.order.ask.number, " of its request")};
  if (!step.differs_in.empty()) replaced_->reason += StrCat(", with other ", Join(step.differs_in, ", "));
  // A full disk keeps nobody from telling the AM.
  if (const auto recorded = RecordKill(*records, *replaced_); !recorded.ok())
    notes_.note(StrCat("tony: ", recorded.error().message, "; only telling the application master"));
  return Ok();
}

Status CourseSteps::AwaitGone(const JobId& job) {
  TRY_ASSIGN(const auto records, FindIfThere(job));
  if (!records) return Ok();
  notes_.note(StrCat("waiting until job ", job.value, " is gone"));
  const auto spec = records->ReadSpec();
  const Instant limit = loop_.Now() + kGoneLimit + (spec.ok() ? spec->timers.grace : Timers().grace);
  const std::optional<KillRequest> kill = std::exchange(replaced_, {});
  while (signal_ == 0) {
    const WatchOptions options = {.kill = kill, .limit = limit - loop_.Now()};
    TRY_ASSIGN(const Watched watched, WatchJob(loop_, interrupts_, *records, launcher_, notes_, options));
    signal_ = watched.signal;
    if (watched.status && IsGone(*records, *watched.status)) break;
    if (loop_.Now() >= limit)
      return Error{ErrorCode::kUnavailable, StrCat("job ", job.value, " is still not gone; nothing was submitted")};
    if (signal_ == 0) HeedSignals(kGonePause);
  }
  return Ok();
}

ExistingJob ToExisting(const JobStatus& status, bool kill_requested) {
  if (!HasEnded(status)) return kill_requested ? ExistingJob::kEnding : ExistingJob::kActive;
  return status.verdict->state == FinalState::kSucceeded ? ExistingJob::kSucceeded : ExistingJob::kEnding;
}

}  // namespace tony
