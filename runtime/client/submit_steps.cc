#include "runtime/client/submit_steps.h"

#include <unistd.h>

#include <mutex>
#include <thread>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/strings.h"
#include "runtime/client/job_access.h"
#include "runtime/client/job_digest.h"
#include "runtime/os/start_program.h"
#include "runtime/records/user_home.h"
#include "runtime/spec/job_spec_parser.h"

namespace tony {
namespace {

// Work that takes less than this time is not reported.
constexpr Duration kQuiet{700};
constexpr Duration kBetweenNotes{200};

// Receives progress from the working thread and reports it on the loop.
class ProgressNotes {
 public:
  ProgressNotes(EventLoop& loop, const ClientNotes& notes, std::string_view doing)
      : loop_(loop), notes_(notes), doing_(doing) {
    NoteAfter(kQuiet);
  }
  ~ProgressNotes() { notes_.moved(); }
  ProgressNotes(const ProgressNotes&) = delete;

  void Take(const StageProgress& progress) {  // called from any thread
    const std::lock_guard lock(mutex_);
    newest_ = progress;
  }

 private:
  void NoteAfter(Duration delay) {
    timer_ = loop_.After(delay, [this] {
      const StageProgress newest = Newest();
      if (!newest.what.empty()) notes_.moving(doing_, newest);
      NoteAfter(kBetweenNotes);
    });
  }

  StageProgress Newest() const {
    const std::lock_guard lock(mutex_);
    return newest_;
  }

  EventLoop& loop_;
  const ClientNotes& notes_;
  const std::string_view doing_;
  mutable std::mutex mutex_;
  StageProgress newest_;
  EventLoop::Timer timer_;
};

// The maximum time to wait for the request's lock. The holder of the lock keeps it for a few calls, or for kAttachLimit
// if the AM hangs.
constexpr Duration kLockLimit{120'000};
constexpr Duration kLockTry{100};  // signals are checked this often
constexpr Duration kAttachLimit{30'000};
// The time that AM and keeper (the supervisor of the job) may need to end a job, beyond the tasks' grace. This time is
// enough even on a machine that swaps.
constexpr Duration kGoneLimit{60'000};
constexpr Duration kGonePause{20};
// The time to wait for a job that another submit is creating. That submit records the job's id and then creates the job
// with a few calls, which take less time in total.
constexpr Duration kComingLimit{10'000};
constexpr Duration kComingPause{200};

Result<SubmitObservation> Taken(const Status& status) {
  if (!status.ok()) return status.error();
  return SubmitObservation(StepDone());
}

}  // namespace

JobCreator::JobCreator(EventLoop& loop, Interrupts& interrupts, const RequestedJob& asked, const Backend& backend,
                       const JobStore& jobs, const ClientNotes& notes)
    : loop_(loop),
      interrupts_(interrupts),
      asked_(asked),
      backend_(backend),
      jobs_(jobs),
      notes_(notes),
      id_(asked.id) {}

JobCreator::~JobCreator() {
  if (is_made_) return;
  if (laid_) {
    jobs_.DiscardUploaded(*laid_);
  } else if (!id_.value.empty()) {
    jobs_.DiscardUploaded(NewJob{.id = id_});
  }
}

// Runs `work` on a thread of its own, and returns when it has ended. A signal requests the work to stop.
void JobCreator::RunInThread(std::string_view doing, const std::function<void(const StageWatch&)>& work) {
  doing_ = doing;
  ProgressNotes progress(loop_, notes_, doing);
  const auto note_damage = [this](const std::string& what, const std::string& damage) {
    loop_.Post([this, line = StrCat("tony: the staged content of ", what, " is damaged (", damage,
                                    "); it is staged again")] { notes_.note(line); });
  };
  std::jthread thread([&](const std::stop_token& stop) {
    work({.on_progress = [&](const StageProgress& made) { progress.Take(made); },
          .stop = stop,
          .on_damage = note_damage});
    loop_.Post([this] { loop_.Stop(); });
  });
  interrupts_.Listen([&](int caught) {
    signal_ = caught;
    thread.request_stop();
  });
  loop_.Run();
  thread.join();
  interrupts_.Listen(nullptr);
}

Status JobCreator::Stage() {
  if (asked_.prepared) {
    files_ = asked_.prepared->staged;
    return Ok();
  }
  if (!NeedsStaging(asked_.job.spec)) return Ok();
  Status staged;
  RunInThread("staging", [&](const StageWatch& watch) { staged = StageHere(watch); });
  return signal_ == 0 ? staged : Ok();
}

Status JobCreator::StageHere(const StageWatch& watch) {
  TRY_ASSIGN(const std::filesystem::path home, TonyHome());
  TRY_ASSIGN(store_, StagedStore::Open(home, watch.stop));
  const auto look = [&](const FileSpec& file) -> Result<std::vector<RemoteFile>> {
    const ClusterFiles* files = backend_.cluster_files();
    if (files) return files->LookAt(asked_.job.site_files, file);
    return Error{ErrorCode::kInvalid, "only a job on YARN can use files in HDFS (tony.scheduler=yarn)"};
  };
  TRY_ASSIGN(files_, tony::Stage(asked_.job.spec, *store_, watch, look, UnpackLimits(), asked_.job.is_tony_job));
  return Ok();
}

// Keeps a copy of this release's programs for the job, so that the installation of another release does not affect the
// running job. If no copy can be kept, the job runs the programs in this program's folder.
Status JobCreator::StorePrograms() {
  if (!backend_.keeps_programs()) return Ok();
  TRY_ASSIGN(const auto home, TonyHome());
  std::vector<std::filesystem::path> installed;
  for (const std::string_view name : kJobPrograms) installed.emplace_back(SiblingProgram(name));
  for (const std::string_view name : kGpuPrograms)
    if (const std::string file = SiblingProgram(name); access(file.c_str(), R_OK) == 0) installed.emplace_back(file);
  Result<StoredPrograms> kept = tony::StorePrograms(home, installed, RealClock().Now());
  if (kept.ok()) {
    programs_ = *std::move(kept);
    return Ok();
  }
  programs_warning_ = StrCat("tony: warning: the job has no copy of TonY's programs: ", kept.error().message,
                             "; the job runs the programs in ", installed.front().parent_path().string(),
                             "; do not replace them before the job has ended");
  return Ok();
}

// Uploads the job before the request's record names it. Otherwise another submit would find the id in the record and
// wait for the upload.
Status JobCreator::UploadJob() {
  if (laid_) return Ok();
  TRY(StorePrograms());
  NewJob job = {.spec = asked_.job.spec,
                .environment = asked_.prepared ? asked_.prepared->environment : OwnEnvironment(),
                .staged = files_,
                .id = id_,
                .request = asked_.order.request,
                .number = asked_.order.ask.number,
                .claim = asked_.order.claim,
                .configuration = ToJson(asked_.job.configuration),
                .secrets = asked_.job.secrets,
                .programs = programs_.hash};
  std::optional<Result<NewJob>> uploaded_records;
  RunInThread("sending", [&](const StageWatch& watch) {
    uploaded_records.emplace(jobs_.UploadJob(std::move(job), RealClock().Now(), watch));
  });
  if (signal_ != 0 && uploaded_records->ok()) jobs_.DiscardUploaded(**uploaded_records);
  if (signal_ != 0) return Ok();
  TRY(*uploaded_records);
  laid_ = **std::move(uploaded_records);
  return Ok();
}

Result<JobRecords> JobCreator::Create() {
  TRY_ASSIGN(JobRecords records, jobs_.Create(*laid_, RealClock().Now()));
  is_made_ = true;
  laid_.reset();  // `laid_` contains secrets
  if (!programs_warning_.empty()) notes_.note(programs_warning_);
  notes_.created(records.job(), files_);
  store_.reset();
  programs_.lock.Reset();
  if (!asked_.prepared) return records;
  if (const Status filled = asked_.prepared->fill(records); !filled.ok()) {
    jobs_.Discard(records);
    return filled.error();
  }
  return records;
}

Status JobCreator::Start(const JobRecords& records, AmLauncher& launcher) const {
  const auto started = launcher.Start(records);
  if (started.ok()) return Ok();
  jobs_.Discard(records);
  return Annotate(started.error(), StrCat("job ", records.job().value, " could not be started"));
}

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
  id_ = asked_.id;
  if (id_.value.empty()) {
    TRY_ASSIGN(id_, jobs_.NewId(RealClock().Now()));
    maker_.UseId(id_);
  }
  SubmitMachine course(asked_.order.ask, claim_.owner, id_);
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
      return Prepare(step.only_for_report);
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

// Runs the loop for `length`. A waiting submit uses this, because signals only arrive while the loop runs.
void CourseSteps::RunLoopFor(Duration length) {
  interrupts_.Listen([this](int signal) { signal_ = signal; });
  const auto timer = loop_.After(length, [this] { loop_.Stop(); });
  loop_.Run();
  interrupts_.Listen(nullptr);
}

Status CourseSteps::Lock() {
  for (const Instant limit = loop_.Now() + kLockLimit; signal_ == 0; RunLoopFor(Duration(0))) {
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

// Reads the record of the request. If another submit is creating the job, waits for the job, because the job exists
// after a few calls unless that submit has died.
Result<std::optional<RequestRecord>> CourseSteps::ReadRecord() {
  bool said = false;
  for (const Instant limit = loop_.Now() + kComingLimit;; RunLoopFor(kComingPause)) {
    TRY_ASSIGN(auto record, index_.Read(request_));
    if (!record || !record->coming || record->coming == id_ || signal_ != 0 || loop_.Now() >= limit) return record;
    if (!std::exchange(said, true))
      notes_.note(StrCat("waiting for the submit that creates job ", record->coming->value));
  }
}

Result<SubmitObservation> CourseSteps::Read() {
  RequestSeen seen;
  TRY_ASSIGN(const auto record, ReadRecord());
  TRY_ASSIGN(seen.revoked, IsRevoked());
  if (record) seen.record = *record;
  TRY_ASSIGN(const auto records, FindIfExists(seen.record.job));
  if (!records) return SubmitObservation(seen);
  TRY(launcher_.Settle(*records));
  TRY_ASSIGN(const KnownStatus known, QueryStatus(*records));
  bool kill_requested = false;
  // Kill requests are read only while the job has not ended. After the end, the file of a kill request proves nothing,
  // because a power cut may have emptied it.
  if (!HasEnded(known.status)) {
    TRY_ASSIGN(kill_requested, records->HasPlainKill());
  }
  seen.existing = ToExisting(known.status, kill_requested);
  seen.gone = IsGone(*records, known.status);
  seen.consumed = known.acked;
  return SubmitObservation(seen);
}

// Stages the files and computes the digest. With `only_for_report` the job is already found, and the sources may be
// missing by now, so an error is only reported as a note.
Result<SubmitObservation> CourseSteps::Prepare(bool only_for_report) {
  const Status staged = maker_.Stage();
  if (!staged.ok() && only_for_report) {
    notes_.note(StrCat("tony: cannot compare the job's sources: ", staged.error().message));
    return SubmitObservation(PreparedSeen());
  }
  if (!staged.ok()) return staged.error();
  signal_ = maker_.signal();
  return SubmitObservation(PreparedSeen{DigestOf(asked_.job, maker_.files().content)});
}

Result<SubmitObservation> CourseSteps::Record(const RequestRecord& record) {
  if (record.job == id_) TRY(maker_.UploadJob());
  if (signal_ = maker_.signal(); signal_ != 0) return SubmitObservation(RecordSeen());
  TRY_ASSIGN(const bool written, index_.Write(request_, record));
  return SubmitObservation(RecordSeen{written});
}

Result<SubmitObservation> CourseSteps::Attach(const JobId& job) {
  TRY_ASSIGN(const auto records, FindIfExists(job));
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
  TRY_ASSIGN(const auto records, FindIfExists(step.job));
  if (!records) return Ok();
  if (step.own) {
    TRY(records->WriteKill({.reason = "a kill revoked the job's owner before the submit", .if_owner = claim_.owner}));
    return Ok();
  }
  KillRequest kill = {.reason = StrCat("replaced by submission ", asked_.order.ask.number, " of its request")};
  if (!step.differs_in.empty()) kill.reason += StrCat(", with other ", Join(step.differs_in, ", "));
  // The kill may fail to be recorded if the disk is full. The AM can still be notified.
  const auto recorded = records->WriteKill(kill);
  if (!recorded.ok())
    notes_.note(StrCat("tony: ", recorded.error().message,
                       "; the kill is not recorded and is only sent to the application master"));
  replaced_ = recorded.ok() ? *recorded : RecordedKill{"", kill};
  return Ok();
}

Status CourseSteps::AwaitGone(const JobId& job) {
  TRY_ASSIGN(const auto records, FindIfExists(job));
  if (!records) return Ok();
  notes_.note(StrCat("waiting until job ", job.value, " has ended"));
  const auto spec = records->ReadSpec();
  const Instant limit = loop_.Now() + kGoneLimit + (spec.ok() ? spec->timers.grace : Timers().grace);
  const std::optional<RecordedKill> kill = std::exchange(replaced_, {});
  while (signal_ == 0) {
    const WatchOptions options = {.kill = kill, .limit = limit - loop_.Now()};
    TRY_ASSIGN(const Watched watched, WatchJob(loop_, interrupts_, *records, launcher_, notes_, options));
    signal_ = watched.signal;
    if (watched.status && IsGone(*records, *watched.status)) break;
    if (loop_.Now() >= limit)
      return Error{ErrorCode::kUnavailable, StrCat("job ", job.value, " has still not ended; nothing was submitted")};
    if (signal_ == 0) RunLoopFor(kGonePause);
  }
  return Ok();
}

ExistingJob ToExisting(const JobStatus& status, bool kill_requested) {
  if (!HasEnded(status)) return kill_requested ? ExistingJob::kEnding : ExistingJob::kActive;
  return status.verdict->state == FinalState::kSucceeded ? ExistingJob::kSucceeded : ExistingJob::kEnding;
}

}  // namespace tony
