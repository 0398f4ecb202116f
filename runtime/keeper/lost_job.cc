#include "runtime/keeper/lost_job.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/base/event_loop.h"
#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/history/ended_log.h"
#include "runtime/history/history_files.h"
#include "runtime/ledger/ledger_files.h"
#include "runtime/ledger/ledger_folder.h"
#include "runtime/os/boost_process_runner.h"
#include "runtime/os/file_system.h"
#include "runtime/os/files.h"
#include "runtime/records/attempt_folder.h"
#include "runtime/records/job_folder.h"
#include "runtime/records/last_status.h"

namespace tony {
namespace {

void WarnUnless(const Status& status) {
  if (!status.ok()) LogWarn(status.error().message);
}

// Redirects the output of this process to the log of the job's keeper. Otherwise this process would keep the output of
// its parent open. If the disk blocks this process, another process that reads the parent's output to the end would
// have to wait.
void WriteToLogOf(const JobRecords& records) {
  const UniqueFd log(open((records.place() / "keeper.log").c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
  const UniqueFd null(open("/dev/null", O_WRONLY | O_CLOEXEC));
  const int output = log.valid() ? log.get() : null.get();
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
}

}  // namespace

void WriteHistoryBegin(const JobRecords& records) {
  WarnUnless(BeginHistory(records));
  // The job may have ended while this process waited for the disk, so the end is written now.
  if (records.HasVerdict()) WriteHistoryEnd(records);
}

void WriteEndedLine(const JobRecords& records) { WarnUnless(RecordEnd(records)); }

void WriteHistoryEnd(const JobRecords& records) { WarnUnless(FinishHistory(records)); }

void WriteInChildProcess(const JobRecords& records, void (*work)(const JobRecords&), Duration patience) {
  EventLoop loop;
  BoostProcessRunner runner(loop);
  const auto started = runner.StartCopy(
      [&] {
        WriteToLogOf(records);
        work(records);
      },
      [&](ExitStatus) { loop.Stop(); });
  if (!started.ok()) return LogWarn(started.error().message);
  const auto limit = loop.After(patience, [&] {
    LogWarn(StrCat("job ", records.job().value, ": writing the job's history takes too long; \"tony history ",
                   records.job().value, " --export\" completes the history"));
    loop.Stop();
  });
  loop.Run();
}

namespace {

constexpr off_t kTailBytes = 2000;  // about twenty lines

// Finds the newest attempt by its log folder, which an AM makes before it launches the attempt.
int NewestAttempt(const JobRecords& records, const TaskId& task) {
  int newest = 0;
  std::error_code error;
  std::filesystem::directory_iterator entry(AttemptFolder(records.place(), {task, 1}).logs.parent_path(), error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error))
    newest = std::max(newest, static_cast<int>(ParseInt(entry->path().filename().string()).value_or(0)));
  return newest;
}

// Adds attempts that the AM launched after its last status document.
void CatchUp(const JobRecords& records, JobStatus& status) {
  for (auto& task : status.tasks) {
    const int newest = NewestAttempt(records, task.id);
    if (newest <= task.attempt) continue;
    task = {.id = task.id, .state = "active", .attempt = newest, .attempt_state = "launching", .host = task.host};
  }
}

// Marks a task as ended if its executor has stored the outcome, so that the task's exit code is not lost.
void EndTasksWithKeptOutcome(const JobRecords& records, JobStatus& status, Instant now) {
  for (auto& task : status.tasks) {
    if (task.state != "active") continue;
    const auto kept = AttemptFolder(records.place(), {task.id, task.attempt}).ReadOutcome();
    if (kept.ok() && *kept) EndTask(task, **kept, now);
  }
}

}  // namespace

Result<JobStatus> EndedStatus(const JobRecords& records, const Verdict& verdict, Instant now) {
  TRY_ASSIGN(JobStatus status, LastStatus(records));
  if (status.verdict) return status;
  CatchUp(records, status);
  EndTasksWithKeptOutcome(records, status, std::max(now, status.submitted));
  EndStatus(status, verdict, now);
  return status;
}

Result<JobStatus> DegradedStatus(const JobRecords& records, const std::string& trouble) {
  TRY_ASSIGN(JobStatus status, LastStatus(records));
  if (status.verdict) return status;
  CatchUp(records, status);
  status.trouble = trouble;
  ++status.seq;
  EndTasksWithKeptOutcome(records, status, RealClock().Now());
  return status;
}

Verdict InfraVerdict(const JobRecords& records, const std::string& reason) {
  Verdict verdict;
  verdict.state = FinalState::kFailed;
  verdict.cls = OutcomeClass::kInfra;
  verdict.message = reason;
  verdict.stderr_tail = LastLinesOfAm(records);
  return verdict;
}

std::string LastLinesOfAm(const JobRecords& records) {
  const UniqueFd fd(open((records.place() / "am.log").c_str(), O_RDONLY | O_CLOEXEC));
  struct stat file {};
  if (!fd.valid() || fstat(fd.get(), &file) != 0) return "";
  std::string tail(static_cast<size_t>(std::min(file.st_size, kTailBytes)), '\0');
  const ssize_t got = pread(fd.get(), tail.data(), tail.size(), file.st_size - static_cast<off_t>(tail.size()));
  tail.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  return tail;
}

namespace {

namespace fs = std::filesystem;

std::string BeginningOf(const JobId& job) { return StrCat(".end-", job.value, "."); }

std::vector<fs::path> FilesOf(const fs::path& ledger, const JobId& job) {
  std::vector<fs::path> files;
  const auto names = NamesIn(ledger);
  if (!names.ok()) return files;
  const std::string beginning = BeginningOf(job);
  for (const std::string& name : *names)
    if (name.starts_with(beginning)) files.push_back(ledger / name);
  return files;
}

std::optional<JobStatus> ReadEnd(const fs::path& path, const JobId& job) {
  const auto file = OpenFile(path, O_RDONLY);
  if (!file.ok() || !*file || (*file)->owner != geteuid()) return std::nullopt;
  const auto content = ReadSmall(**file);
  if (!content.ok()) return std::nullopt;
  auto status = JobStatusFromJson(*content);
  if (!status.ok() || status->job != job || !status->verdict || !status->ended) return std::nullopt;
  return *std::move(status);
}

}  // namespace

Result<fs::path> KeepUnwrittenEnd(const fs::path& ledger, JobStatus status) {
  status.tasks.clear();
  status.restarts.clear();
  fs::path file = ledger / StrCat(BeginningOf(status.job), RandomHex(8));
  const Status written = WriteNewFile(file, ToJson(status), /*durable=*/true);
  if (written.ok()) return file;
  unlink(file.c_str());
  return written.error();
}

std::optional<JobStatus> FindUnwrittenEnd(const fs::path& ledger, const JobId& job) {
  for (const fs::path& file : FilesOf(ledger, job))
    if (auto status = ReadEnd(file, job)) return status;
  return std::nullopt;
}

void ForgetUnwrittenEnd(const fs::path& ledger, const JobId& job) {
  for (const fs::path& file : FilesOf(ledger, job))
    if (ReadEnd(file, job)) unlink(file.c_str());
}

namespace {

// Returns the folder of the job's ledger. If the job's folder cannot be read, returns the ledger of this process as the
// best guess.
std::optional<std::filesystem::path> LedgerOf(const JobRecords& records) {
  auto ledger = LedgerFolder::FindFor(records);
  if (!ledger.ok()) ledger = LedgerFolder::FindHere();
  return ledger.ok() ? std::optional(ledger->path()) : std::nullopt;
}

std::optional<JobStatus> EndInLedger(const JobRecords& records) {
  const auto ledger = LedgerOf(records);
  return ledger ? FindUnwrittenEnd(*ledger, records.job()) : std::nullopt;
}

// How long a client that finalizes a lost job waits for each writer of its records.
constexpr Duration kHistoryPatience{3000};

}  // namespace

bool HasEndedUnrecorded(const JobRecords& records) {
  return JobFolder(records).IsOfEarlierBoot() || EndInLedger(records).has_value();
}

// The locks are checked first, because a held lock proves that a process lives. A boot id can change under living
// processes, e.g. when a virtual machine or container is moved.
bool IsLost(const JobRecords& records) {
  const JobFolder folder(records);
  return !folder.IsLocked("keeper.lock") && !folder.IsLocked("am.lock") && HasEndedUnrecorded(records);
}

Result<JobStatus> LostStatus(const JobRecords& records) {
  if (auto kept = EndInLedger(records)) {
    auto status = EndedStatus(records, *kept->verdict, *kept->ended);
    // If the job's folder cannot be read, the stored end is returned as it is.
    return status.ok() ? std::move(status) : *std::move(kept);
  }
  const Instant restart = BootTime(RealClock().Now());
  Verdict verdict;
  verdict.state = FinalState::kFailed;
  verdict.cls = OutcomeClass::kNodeLost;
  verdict.message = StrCat("the machine was restarted at ", ToIso8601(restart), " while the job ran");
  return EndedStatus(records, verdict, restart);
}

Status EndLostJob(const JobRecords& records) {
  TRY_ASSIGN(const JobStatus status, LostStatus(records));
  TRY(records.WriteStatus(status, Durability::kSurvivesPowerCut));
  WriteInChildProcess(records, WriteEndedLine, kHistoryPatience);
  TRY(WriteFileByRename(JobFolder(records).finished(), "", /*durable=*/false));
  records.RemoveSecrets();
  if (const auto ledger = LedgerOf(records)) ForgetUnwrittenEnd(*ledger, records.job());
  const auto history = HistoryFolder(records);
  if (history.ok() && *history) WriteInChildProcess(records, WriteHistoryEnd, kHistoryPatience);
  return Ok();
}

Status FinalizeIfLost(const JobRecords& records) {
  if (!IsLost(records)) return Ok();
  const auto lock = JobFolder(records).Lock("keeper.lock");
  if (!lock.ok()) return lock.error().code == ErrorCode::kUnavailable ? Ok() : Status(lock.error());
  return EndLostJob(records);
}

}  // namespace tony
