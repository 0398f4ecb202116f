// The end of a job, both with and without an AM.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/history/history_files.h"
#include "runtime/job/job_spec.h"
#include "runtime/keeper/keeper.h"
#include "runtime/keeper/lost_job.h"
#include "runtime/keeper/message_channel.h"
#include "runtime/os/files.h"
#include "runtime/os/podman.h"
#include "runtime/records/job_folder.h"
#include "runtime/records/last_status.h"

namespace tony::keeper {
namespace {

constexpr Duration kBetweenSweeps{5};
// The limit of the wait for processes of the job at its end. A process that survives SIGKILL this long is blocked in
// the kernel, and dies when the kernel releases it.
constexpr Duration kLongestSweep{30000};
// The interval at which kHolding checks whether processes of the job remain.
constexpr Duration kBetweenHolds{1000};
// The interval at which kRunningOut checks for ended tasks and for kills. The interval is short, because Azkaban's
// adapter waits only a second for the result of its kill.
constexpr Duration kCheckInterval{250};
// The time limit for writing the job's line in the log of ended jobs. The limit is longer than the time for which the
// writer waits for other writers (ended_log.cc).
constexpr Duration kRecordLimit{3000};
// The time limit for writing the history. A disk that responds stores the history of a few thousand attempts in less
// time. The limit is short, because clients that wait for the job wait for its history, too.
constexpr Duration kHistoryLimit{2000};
// The time that an executor has to clean up after the grace of its task, before the keeper kills it.
constexpr Duration kExecutorMargin{2000};

// Releases the locks that clients wait for. The function finds the descriptors of the locks in /proc, because this
// keeper inherited one of them from the process that started it.
void ReleaseClientLocks(const JobRecords& records) {
  std::vector<int> locks;
  std::error_code error;
  const auto folder = std::filesystem::canonical(records.place(), error);
  std::filesystem::directory_iterator fd("/proc/self/fd", error);
  for (; !error && fd != std::filesystem::directory_iterator(); fd.increment(error)) {
    std::error_code gone;
    const auto file = std::filesystem::read_symlink(fd->path(), gone);
    if (file == folder / "keeper.lock" || file == folder / "keeper.start")
      locks.push_back(static_cast<int>(ParseInt(fd->path().filename().string()).value_or(-1)));
  }
  for (const int lock : locks) close(lock);
}

Verdict Killed(const std::string& reason) {
  Verdict verdict;
  verdict.state = FinalState::kKilled;
  verdict.cls = OutcomeClass::kKilled;
  verdict.message = reason;
  return verdict;
}

}  // namespace

// Treats a stop signal as a kill: the AM ends the job, and then the keeper exits. If the kill cannot be recorded, or
// the AM does not end the job in time, the keeper kills the AM and ends the job itself.
void Keeper::Stop(const std::string& reason) {
  stop_reason_ = reason;
  if (phase_ == Phase::kHolding) return EnterDone();
  if (phase_ != Phase::kServing && phase_ != Phase::kRunningOut) return;  // the job is ending already
  const auto written = records_.WriteKill({reason});
  if (!written.ok()) LogError(written.error().message);
  if (!written.ok()) return EndForKill({.reason = reason});
  stop_timer_ = loop_.After(grace_ + stop_margin_, [this] { EndWithoutAm(Killed(stop_reason_), Duration(0)); });
}

void Keeper::EndWithoutAm(Verdict verdict, Duration grace) {
  if (phase_ != Phase::kServing && phase_ != Phase::kRunningOut) return;
  LogWarn(StrCat("the keeper ends the job without its application master: ", verdict.message));
  verdict_ = std::move(verdict);
  am_.RetireAtOnce();
  EndTasks(grace);
}

// Runs `work` in a child process. Returns false if no process can be made; `tony gc` and `tony history --export` then
// write what is missing.
bool Keeper::StartWriter(void (*work)(const JobRecords&), EventLoop::Callback on_end) {
  const auto started = runner_.StartCopy([&] { work(records_); },
                                         [on_end = std::move(on_end)](ExitStatus) {
                                           if (on_end) on_end();
                                         });
  if (!started.ok()) LogWarn(started.error().message);
  return started.ok();
}

void Keeper::Finish() {
  records_.FreeReserve();
  phase_ = Phase::kRecording;
  // The job's line in the log of ended jobs is written first, and the file `finished` after it. If the keeper dies
  // before it has made this file, another keeper is started, which also writes the line. A line that cannot be written
  // does not make the job fail, and the keeper waits for the line at most kRecordLimit.
  timer_ = loop_.After(kRecordLimit, [this] {
    LogWarn("writing the log of ended jobs takes too long; the keeper continues without waiting for this log");
    WriteFinished();
  });
  if (!StartWriter(WriteEndedLine, [this] { WriteFinished(); })) WriteFinished();
}

void Keeper::WriteFinished() {
  if (phase_ != Phase::kRecording) return;
  const Status recorded = WriteFileByRename(JobFolder(records_).finished(), "", /*durable=*/false);
  if (!recorded.ok()) return TryAgain(&Keeper::WriteFinished, recorded.error());
  LogInfo("the job is finished");
  TakeLeave();
}

// Ends the job although its end could not be recorded within the time `unwritable_`, because a keeper must not wait
// forever for a disk that fails. The end is then kept in the ledger's folder, if the ledger is found.
void Keeper::LeaveUnwritten(const Error& error) {
  if (!ledger_) {
    if (auto found = LedgerFolder::FindFor(records_); found.ok()) ledger_ = *std::move(found);
  }
  auto status = EndedStatus(records_, verdict_, loop_.Now());
  if (!status.ok()) EndStatus(first_status_, verdict_, loop_.Now());
  const Result<std::filesystem::path> kept =
      ledger_ ? KeepUnwrittenEnd(ledger_->path(), status.ok() ? *status : first_status_)
              : Result<std::filesystem::path>(Error{ErrorCode::kCannotWrite, "the ledger was not found"});
  end_ = Error{ErrorCode::kCannotWrite,
               StrCat("the end of the job, ", ToString(verdict_.state), " (", verdict_.message,
                      "), could not be recorded: ", error.message,
                      kept.ok() ? "; the next tony command for the job reads this end from " : "; this end is lost: ",
                      kept.ok() ? kept->string() : kept.error().message)};
  LogError(end_.error().message);
  TakeLeave();
}

void Keeper::TakeLeave() {
  records_.RemoveSecrets();
  timer_.reset();
  phase_ = Phase::kFinishing;
  Report(JobFinished{});
  containers_.KillAll();
  am_.Retire();
  Proceed();
}

void Keeper::GiveUp(const std::string& reason) {
  LogError(reason);
  if (phase_ != Phase::kServing) return;
  verdict_ = stop_reason_.empty() ? InfraVerdict(records_, reason) : Killed(stop_reason_);
  EndTasks(grace_);
}

void Keeper::RunOut(const std::string& reason) {
  if (phase_ != Phase::kServing) return;
  LogError(StrCat("no application master can run this job, but its tasks continue: ", reason));
  verdict_ = InfraVerdict(records_, reason);
  phase_ = Phase::kRunningOut;
  Proceed();
  if (phase_ == Phase::kRunningOut) WriteDegradedStatus();
  LookAtTasks();
}

void Keeper::WriteDegradedStatus() {
  running_told_ = containers_.Running();
  const auto status = DegradedStatus(records_, verdict_.message);
  const Status written =
      status.ok() ? records_.WriteStatus(*status, Durability::kLostWithPower) : Status(status.error());
  if (!written.ok()) LogWarn(written.error().message);
}

void Keeper::LookAtTasks() {
  if (phase_ != Phase::kRunningOut) return;
  timer_ = loop_.After(kCheckInterval, [this] {
    // A kill that arrives after this read is handled after the next read.
    const auto kills = records_.ReadKills();
    if (!kills.ok()) LogWarn(kills.error().message);
    if (const auto kill = kills.ok() ? KillToExecute(*kills) : std::nullopt) return EndForKill(*kill);
    if (kills.ok()) Refuse(*kills);
    // An executor whose task has ended, or was never started, would otherwise wait for an AM.
    containers_.StopIdle();
    if (containers_.Running() != running_told_) WriteDegradedStatus();
    LookAtTasks();
  });
}

void Keeper::LookForFolder() {
  presence_timer_ = loop_.After(FolderPresence::kCheckInterval, [this] {
    if (presence_.IsGone(loop_.Now())) return LeaveGoneFolder();
    LookForFolder();
  });
}

// Ends a job whose folder was removed. Nothing can be recorded, and no client would find a record.
void Keeper::LeaveGoneFolder() {
  if (phase_ == Phase::kSweeping || phase_ == Phase::kWritingHistory || phase_ == Phase::kHolding ||
      phase_ == Phase::kDone)
    return;
  end_ = presence_.RemovedError();
  LogError(StrCat(end_.error().message, "; the keeper ends the job's processes"));
  stop_timer_.reset();
  phase_ = Phase::kFinishing;
  am_.RetireAtOnce();
  containers_.StopAll();
  timer_ = loop_.After(grace_ + kExecutorMargin, [this] { containers_.KillAll(); });
  Proceed();
}

void Keeper::EndTasks(Duration grace) {
  phase_ = Phase::kEndingTasks;
  containers_.StopAll();
  if (grace == Duration(0)) containers_.KillAll();
  timer_ = loop_.After(grace + kExecutorMargin, [this] { containers_.KillAll(); });
  Proceed();
}

// Takes the next step of the end, once the AM and the containers have exited.
void Keeper::Proceed() {
  if (!am_.Gone() || containers_.AnyToEnd()) return;
  switch (phase_) {
    case Phase::kFinishing:
      return SweepJob();
    case Phase::kRunningOut:
    case Phase::kEndingTasks:
      return WriteVerdict();
    case Phase::kServing:
    case Phase::kRecording:
    case Phase::kSweeping:
    case Phase::kWritingHistory:
    case Phase::kHolding:
    case Phase::kDone:
      return;
  }
}

void Keeper::WriteVerdict() {
  phase_ = Phase::kEndingTasks;
  if (const std::string left = containers_.Left(); !left.empty() && left_.empty()) {
    left_ = left;
    verdict_.message += StrCat("; ", left);
  }
  records_.FreeReserve();
  const auto status = EndedStatus(records_, verdict_, loop_.Now());
  if (!status.ok() && status.error().code == ErrorCode::kUnavailable)
    return TryAgain(&Keeper::WriteVerdict, status.error());
  if (!status.ok()) LogError(status.error().message);
  const Status written = status.ok() ? records_.WriteStatus(*status, Durability::kSurvivesPowerCut) : Ok();
  if (!written.ok()) return TryAgain(&Keeper::WriteVerdict, written.error());
  Finish();
}

void Keeper::SweepJob() {
  if (phase_ != Phase::kSweeping) sweep_end_ = loop_.Now() + kLongestSweep;
  phase_ = Phase::kSweeping;
  const std::string left = containers_.KillAllOfJob();
  if (!left.empty() && loop_.Now() < sweep_end_) {
    timer_ = loop_.After(kBetweenSweeps, [this] { SweepJob(); });
    return;
  }
  left_ = left.empty() ? containers_.Left() : left;
  RemovePodmanContainers();
  containers_.RemoveCgroups();
  if (left_.empty()) LeaveLedger();
  WriteHistory();
}

// Podman removes a container when the container ends, except if podman itself was killed.
void Keeper::RemovePodmanContainers() {
  const auto spec = records_.ReadSpec();
  if (!spec.ok() || !spec->UsesPodman()) return;
  const Status removed = RemoveContainers(StrCat(kJobLabel, "=", records_.job().value));
  if (!removed.ok()) LogWarn(removed.error().message);
}

// Writes the history as the last step. `tony history --export` completes a history that is missing.
void Keeper::WriteHistory() {
  phase_ = Phase::kWritingHistory;
  const auto history = HistoryFolder(records_);
  if (!history.ok()) LogWarn(history.error().message);
  if (!history.ok() || !*history || !StartWriter(WriteHistoryEnd, [this] { LeaveFolder(); })) return LeaveFolder();
  timer_ = loop_.After(kHistoryLimit, [this] {
    LogWarn("writing the job's history takes too long; \"tony history JOB --export\" completes the history");
    LeaveFolder();
  });
}

void Keeper::LeaveFolder() {
  if (phase_ != Phase::kWritingHistory) return;
  RemoveKeeperSocket(records_);
  if (left_.empty()) return EnterDone();
  phase_ = Phase::kHolding;
  LogError(StrCat("the job has ended, and its memory and GPUs stay reserved because processes remain: ", left_));
  accepting_.reset();
  listener_ = UniqueFd();
  peers_.clear();
  am_peer_ = 0;
  ReleaseClientLocks(records_);
  HoldReservation();
}

void Keeper::HoldReservation() {
  timer_ = loop_.After(kBetweenHolds, [this] {
    if (!containers_.KillAllOfJob().empty() || !containers_.Left().empty()) return HoldReservation();
    containers_.RemoveCgroups();
    EnterDone();
  });
}

void Keeper::EnterDone() {
  if (phase_ == Phase::kDone) return;
  LeaveLedger();
  LogInfo(phase_ == Phase::kHolding && !stop_reason_.empty()
              ? "the keeper received a stop signal and released the job's reservation"
              : "no process of the job is left");
  phase_ = Phase::kDone;
  on_done_();
}

// Retries a failed step. The reservation is released as soon as no process of this job is left. Therefore other jobs do
// not wait for the disk of this job.
void Keeper::TryAgain(void (Keeper::*step)(), const Error& error) {
  LogWarn(error.message);
  if (am_.Gone() && !containers_.AnyToEnd() && containers_.Left().empty() && containers_.KillAllOfJob().empty())
    LeaveLedger();
  if (!unwritten_end_) unwritten_end_ = loop_.Now() + unwritable_;
  if (loop_.Now() >= *unwritten_end_) return LeaveUnwritten(error);
  timer_ = loop_.At(std::min(loop_.Now() + kBetweenTries, *unwritten_end_), [this, step] { (this->*step)(); });
}

// Silent AMs. The keeper executes a kill to which the AM does not react, long before the silence of the AM counts as a
// hang. The keeper also limits the start of the first AM.

namespace {

// The time that the AM has to react to a kill. An AM without a connection is either starting, which takes some 50 ms,
// or hanging. A connected AM finds a kill within a second by itself, and sends a message every third of its lease.
constexpr Duration kPatienceUnconnected{1500};
constexpr Duration kPatienceConnected{2000};
constexpr Duration kUnheardLook{250};
constexpr Duration kUnheardLookAtConnected{1000};
// If a timer fires this late, this process or the whole machine was stopped meanwhile.
constexpr Duration kSleptThrough{1000};

}  // namespace

void Keeper::LookForKills() {
  const Instant due = loop_.Now() + (am_peer_ == 0 ? kUnheardLook : kUnheardLookAtConnected);
  unheard_timer_ = loop_.At(due, [this, due] {
    if (phase_ != Phase::kServing) return;
    CheckUnansweredKill(/*overslept=*/loop_.Now() - due > kSleptThrough);
    if (phase_ == Phase::kServing) LookForKills();
  });
}

void Keeper::CheckUnansweredKill(bool overslept) {
  const auto kills = records_.ReadKills();
  const auto kill = kills.ok() ? KillToExecute(*kills) : std::nullopt;
  if (!kill) return unheard_kill_.reset();
  // Reads messages of the AM that arrived while this process was stopped, because they show that the AM is not silent.
  if (am_peer_ != 0) peers_.at(am_peer_)->ReadNow();
  const Instant now = loop_.Now();
  if (!unheard_kill_ || overslept) unheard_kill_ = now;
  const Duration patience = am_peer_ == 0 ? kPatienceUnconnected : kPatienceConnected + am_lease_ / 3;
  if (phase_ != Phase::kServing || now - std::max(*unheard_kill_, am_heard_) < patience) return;
  LogWarn("the application master does not react to the kill");
  EndForKill(*kill);
}

// Returns the kill to execute. If several kills may be executed, the one with the shortest grace is returned. A kill
// without a condition is always executed. A kill that names an owner is executed if this owner submitted the job and no
// AM has led the job yet. Only an AM can change the owner. The file of a kill stays, so that the next keeper finds the
// kill, too.
std::optional<KillRequest> Keeper::KillToExecute(const std::vector<RecordedKill>& kills) const {
  if (kills.empty()) return std::nullopt;
  const auto lease = records_.ReadLease();
  const auto submission = records_.ReadSubmission();
  const bool knows_owner = lease.ok() && !*lease && submission.ok();
  const Instant now = loop_.Now();
  std::optional<KillRequest> soonest;
  for (const RecordedKill& kill : kills) {
    KillRequest request = kill.request;
    const bool taken =
        knows_owner && JudgeKill(WithDueByReader(now, request), submission->claim.owner, {}, now) == KillAnswer::kTaken;
    if (request.grace < Duration(0)) request.grace = grace_;
    if ((taken || request.IsPlain()) && (!soonest || request.grace < soonest->grace)) soonest = request;
  }
  return soonest;
}

// Refuses kills by removing their files. The client of a kill takes the removal as the refusal.
void Keeper::Refuse(const std::vector<RecordedKill>& kills) const {
  for (const auto& [name, request] : kills) {
    LogWarn(StrCat("the keeper refused the kill request ", name, " (", request.reason,
                   "): only an application master could check the condition of this kill, and none can run; a kill "
                   "without a condition ends the job"));
    if (const Status removed = records_.RemoveKill(name); !removed.ok()) LogWarn(removed.error().message);
  }
}

// Ends the job as the AM would end it for this kill.
void Keeper::EndForKill(const KillRequest& kill) {
  EndWithoutAm(Killed(ReasonWithRequester(kill)), kill.grace < Duration(0) ? grace_ : kill.grace);
}

void Keeper::HearAm() {
  am_heard_ = loop_.Now();
  start_timer_.reset();
}

// Limits the time until the first AM has sent its Hello message, to this keeper or to an earlier one.
void Keeper::LimitStart(Duration limit) {
  const auto lease = records_.ReadLease();
  const auto submission = records_.ReadSubmission();
  if (limit == Duration(0) || !lease.ok() || *lease || !submission.ok()) return;
  const Duration spent = ElapsedOfLimit(limit, submission->time, RealClock().Now());
  start_timer_ = loop_.After(limit - spent, [this, limit] {
    if (phase_ != Phase::kServing) return;
    Verdict verdict = InfraVerdict(records_, StartTimeoutMessage(limit, limit, ""));
    verdict.cls = OutcomeClass::kTimeout;
    LogError(verdict.message);
    EndWithoutAm(std::move(verdict), Duration(0));
  });
}

}  // namespace tony::keeper
