// The keeper's part after the AM's: how a job ends, with an AM and without one.
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
#include "runtime/records/job_folder.h"
#include "runtime/records/last_status.h"

namespace tony::keeper {
namespace {

constexpr Duration kBetweenSweeps{5};
// What is not dead this long after SIGKILL is in the kernel's hands and will die when those let go.
constexpr Duration kLongestSweep{30000};
// Between looks at what keeps the job's place.
constexpr Duration kBetweenHolds{1000};
// Between looks at tasks that run out and at whether somebody wants them killed: Azkaban's adapter waits for a second
// for what becomes of its kill.
constexpr Duration kBetweenLooks{250};
// For the line of an ended job: above the time that its writer waits for others who write (ended_log.cc).
constexpr Duration kRecordLimit{3000};
// A history of some thousand attempts takes less on a disk that answers. Who waits for the job waits for this, too.
constexpr Duration kHistoryLimit{2000};
// For an executor to sweep up after its task's grace, before we do.
constexpr Duration kExecutorMargin{2000};

// Clients wait until these locks are free. The descriptors are looked up, because the process that started this one
// opened one of them.
void LetGoOfLocks(const JobRecords& records) {
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

// A signal that tells the keeper to stop is a kill: the AM ends the job, and so the keeper. Where the AM cannot be
// asked or does not do it in time, it is ended first.
void Keeper::Stop(const std::string& reason) {
  stop_reason_ = reason;
  if (phase_ == Phase::kHolding) return BeDone();
  if (phase_ != Phase::kServing && phase_ != Phase::kRunningOut) return;  // it is on its way
  const auto written = records_.WriteKill({reason});
  if (!written.ok()) LogError(written.error().message);
  if (!written.ok()) return EndForKill({.reason = reason});
  stop_timer_ = loop_.After(grace_ + stop_margin_, [this] { EndWithoutAm(Killed(stop_reason_), Duration(0)); });
}

void Keeper::EndWithoutAm(Verdict verdict, Duration grace) {
  if (phase_ != Phase::kServing && phase_ != Phase::kRunningOut) return;
  LogWarn(StrCat("ending the job without its application master: ", verdict.message));
  verdict_ = std::move(verdict);
  am_.RetireAtOnce();
  EndTasks(grace);
}

// False: no process can be made, and `tony gc` and `tony history --export` write what is not written now.
bool Keeper::StartWriter(void (*work)(const JobRecords&), EventLoop::Callback on_end) {
  const auto started = runner_.StartCopy([&] { work(records_); },
                                         [on_end = std::move(on_end)](ExitStatus) {
                                           if (on_end) on_end();
                                         });
  if (!started.ok()) LogWarn(started.error().message);
  return started.ok();
}

void Keeper::Finish() {
  records_.GiveUpReserve();
  phase_ = Phase::kRecording;
  // Before `finished`: without that a job whose keeper dies now gets another one, which comes here too. No job fails
  // for the sake of its line, nor does the machine wait for it.
  timer_ = loop_.After(kRecordLimit, [this] {
    LogWarn("the log of ended jobs does not answer");
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

// A job whose end cannot be recorded does not run longer than others.
void Keeper::LeaveUnwritten(const Error& error) {
  if (!ledger_) {
    if (auto found = LedgerFolder::FindFor(records_); found.ok()) ledger_ = *std::move(found);
  }
  auto status = EndedStatus(records_, verdict_, loop_.Now());
  if (!status.ok()) EndStatus(first_status_, verdict_, loop_.Now());
  const Result<std::filesystem::path> kept =
      ledger_ ? KeepUnwrittenEnd(ledger_->path(), status.ok() ? *status : first_status_)
              : Result<std::filesystem::path>(Error{ErrorCode::kCannotWrite, "there is no ledger"});
  end_ =
      Error{ErrorCode::kCannotWrite, StrCat("the end of the job, ", ToString(verdict_.state), " (", verdict_.message,
                                            "), is not recorded: ", error.message,
                                            kept.ok() ? "; the next look at the job takes it from " : "; it is lost: ",
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
  LogError(StrCat("no application master can rule this job; its tasks go on: ", reason));
  verdict_ = InfraVerdict(records_, reason);
  phase_ = Phase::kRunningOut;
  Proceed();
  if (phase_ == Phase::kRunningOut) SayTrouble();
  LookAtTasks();
}

void Keeper::SayTrouble() {
  running_told_ = containers_.Running();
  const auto status = TroubledStatus(records_, verdict_.message);
  const Status written =
      status.ok() ? records_.WriteStatus(*status, Durability::kLostWithPower) : Status(status.error());
  if (!written.ok()) LogWarn(written.error().message);
}

void Keeper::LookAtTasks() {
  if (phase_ != Phase::kRunningOut) return;
  timer_ = loop_.After(kBetweenLooks, [this] {
    // A kill that comes after this read is neither obeyed nor refused before the next one.
    const auto kills = records_.ReadKills();
    if (!kills.ok()) LogWarn(kills.error().message);
    if (const auto kill = kills.ok() ? KillToObey(*kills) : std::nullopt) return EndForKill(*kill);
    if (kills.ok()) Refuse(*kills);
    // An executor whose task has ended, or was never told to start, would wait for an AM.
    containers_.StopIdle();
    if (containers_.Running() != running_told_) SayTrouble();
    LookAtTasks();
  });
}

void Keeper::LookForFolder() {
  presence_timer_ = loop_.After(FolderPresence::kBetweenLooks, [this] {
    if (presence_.IsGone(loop_.Now())) return LeaveGoneFolder();
    LookForFolder();
  });
}

// Nothing can be recorded any more, nor would anybody find it.
void Keeper::LeaveGoneFolder() {
  if (phase_ == Phase::kSweeping || phase_ == Phase::kWritingHistory || phase_ == Phase::kHolding ||
      phase_ == Phase::kDone)
    return;
  end_ = presence_.GoneError();
  LogError(StrCat(end_.error().message, ": ending what runs of it"));
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

// The next step of an end, once what it waits for is gone.
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
  records_.GiveUpReserve();
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
  containers_.RemoveCgroups();
  if (left_.empty()) LeaveLedger();
  WriteHistory();
}

// Last of all; `tony history --export` mends what this does not get done.
void Keeper::WriteHistory() {
  phase_ = Phase::kWritingHistory;
  const auto history = HistoryFolder(records_);
  if (!history.ok()) LogWarn(history.error().message);
  if (!history.ok() || !*history || !StartWriter(WriteHistoryEnd, [this] { LeaveFolder(); })) return LeaveFolder();
  timer_ = loop_.After(kHistoryLimit, [this] {
    LogWarn("the folder of the history does not answer");
    LeaveFolder();
  });
}

void Keeper::LeaveFolder() {
  if (phase_ != Phase::kWritingHistory) return;
  RemoveKeeperSocket(records_);
  if (left_.empty()) return BeDone();
  phase_ = Phase::kHolding;
  LogError(StrCat("the job has ended and keeps its place on the machine: ", left_));
  accepting_.reset();
  listener_ = UniqueFd();
  peers_.clear();
  am_peer_ = 0;
  LetGoOfLocks(records_);
  HoldPlace();
}

void Keeper::HoldPlace() {
  timer_ = loop_.After(kBetweenHolds, [this] {
    if (!containers_.KillAllOfJob().empty() || !containers_.Left().empty()) return HoldPlace();
    containers_.RemoveCgroups();
    BeDone();
  });
}

void Keeper::BeDone() {
  if (phase_ == Phase::kDone) return;
  LeaveLedger();
  LogInfo(phase_ == Phase::kHolding && !stop_reason_.empty() ? "the place is given back as asked" : "nothing is left");
  phase_ = Phase::kDone;
  on_done_();
}

// The job's place is given back as soon as no process has it: other jobs do not wait for a disk.
void Keeper::TryAgain(void (Keeper::*step)(), const Error& error) {
  LogWarn(error.message);
  if (am_.Gone() && !containers_.AnyToEnd() && containers_.Left().empty() && containers_.KillAllOfJob().empty())
    LeaveLedger();
  if (!unwritten_end_) unwritten_end_ = loop_.Now() + unwritable_;
  if (loop_.Now() >= *unwritten_end_) return LeaveUnwritten(error);
  timer_ = loop_.At(std::min(loop_.Now() + kBetweenTries, *unwritten_end_), [this, step] { (this->*step)(); });
}

// A master that says nothing: kills that it does not hear, and the limit of its first start. A kill does not wait until
// its silence has lasted for so long that it counts as hung.

namespace {

// A master that has no connection to us starts, within some 50 ms, or hangs. One that has connects and hears of a kill
// within a second by itself; it says something each third of its lease.
constexpr Duration kPatienceUnconnected{1500};
constexpr Duration kPatienceConnected{2000};
constexpr Duration kUnheardLook{250};
constexpr Duration kUnheardLookAtConnected{1000};
// A timer later than this means that this process was stopped, or the whole machine.
constexpr Duration kSleptThrough{1000};

}  // namespace

void Keeper::LookForKills() {
  const Instant due = loop_.Now() + (am_peer_ == 0 ? kUnheardLook : kUnheardLookAtConnected);
  unheard_timer_ = loop_.At(due, [this, due] {
    if (phase_ != Phase::kServing) return;
    JudgeUnheardKill(/*overslept=*/loop_.Now() - due > kSleptThrough);
    if (phase_ == Phase::kServing) LookForKills();
  });
}

void Keeper::JudgeUnheardKill(bool overslept) {
  const auto kills = records_.ReadKills();
  const auto kill = kills.ok() ? KillToObey(*kills) : std::nullopt;
  if (!kill) return unheard_kill_.reset();
  if (am_peer_ != 0) peers_.at(am_peer_)->ReadNow();  // what it may have said while we slept
  const Instant now = loop_.Now();
  if (!unheard_kill_ || overslept) unheard_kill_ = now;
  const Duration patience = am_peer_ == 0 ? kPatienceUnconnected : kPatienceConnected + am_lease_ / 3;
  if (phase_ != Phase::kServing || now - std::max(*unheard_kill_, am_heard_) < patience) return;
  LogWarn("the application master does not hear of the kill");
  EndForKill(*kill);
}

// A kill without a condition; and before any AM has ruled, a kill on condition of the owner who submitted the job,
// because no other owner can have come since. Such a kill holds for the next keeper, too: its file stays.
std::optional<KillRequest> Keeper::KillToObey(const std::vector<RecordedKill>& kills) const {
  if (kills.empty()) return std::nullopt;
  const auto lease = records_.ReadLease();
  const auto submission = records_.ReadSubmission();
  const bool knows_owner = lease.ok() && !*lease && submission.ok();
  const Instant now = loop_.Now();
  std::optional<KillRequest> soonest;
  for (const RecordedKill& kill : kills) {
    KillRequest request = kill.request;
    const bool taken =
        knows_owner && JudgeKill(ByClockOf(now, request), submission->claim.owner, {}, now) == KillAnswer::kTaken;
    if (request.grace < Duration(0)) request.grace = grace_;
    if ((taken || request.IsPlain()) && (!soonest || request.grace < soonest->grace)) soonest = request;
  }
  return soonest;
}

// The client of a kill takes the loss of its file for the refusal.
void Keeper::Refuse(const std::vector<RecordedKill>& kills) const {
  for (const auto& [name, request] : kills) {
    LogWarn(StrCat("kill request ", name, " (", request.reason,
                   ") refused: only an application master knows who owns and watches the job; a kill without a "
                   "condition ends it"));
    if (const Status removed = records_.RemoveKill(name); !removed.ok()) LogWarn(removed.error().message);
  }
}

// As the AM would end the job for this kill.
void Keeper::EndForKill(const KillRequest& kill) {
  EndWithoutAm(Killed(ReasonWithAsker(kill)), kill.grace < Duration(0) ? grace_ : kill.grace);
}

void Keeper::HearAm() {
  am_heard_ = loop_.Now();
  start_timer_.reset();
}

// Only until the first master has said hello, whichever keeper it was to.
void Keeper::LimitStart(Duration limit) {
  const auto lease = records_.ReadLease();
  const auto submission = records_.ReadSubmission();
  if (limit == Duration(0) || !lease.ok() || *lease || !submission.ok()) return;
  const Duration spent = SpentOf(limit, submission->time, RealClock().Now());
  start_timer_ = loop_.After(limit - spent, [this, limit] {
    if (phase_ != Phase::kServing) return;
    Verdict verdict = InfraVerdict(records_, StartedTooLate(limit, limit, ""));
    verdict.cls = OutcomeClass::kTimeout;
    LogError(verdict.message);
    EndWithoutAm(std::move(verdict), Duration(0));
  });
}

}  // namespace tony::keeper
