#include "runtime/keeper/final_status.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/records/attempt_folder.h"
#include "runtime/records/last_status.h"

namespace tony {
namespace {

constexpr off_t kTailBytes = 2000;  // some twenty lines: what a person reads first

// By its log folders, which an AM makes before it launches an attempt.
int NewestAttempt(const JobRecords& records, const TaskId& task) {
  int newest = 0;
  std::error_code error;
  std::filesystem::directory_iterator entry(AttemptFolder(records.place(), {task, 1}).logs.parent_path(), error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error))
    newest = std::max(newest, static_cast<int>(ParseInt(entry->path().filename().string()).value_or(0)));
  return newest;
}

// The document may be older than the AM was.
void CatchUp(const JobRecords& records, JobStatus& status) {
  for (auto& task : status.tasks) {
    const int newest = NewestAttempt(records, task.id);
    if (newest <= task.attempt) continue;
    task = {.id = task.id, .state = "active", .attempt = newest, .attempt_state = "launching", .host = task.host};
  }
}

// No exit code is lost because nobody was there to be told of it.
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

Result<JobStatus> TroubledStatus(const JobRecords& records, const std::string& trouble) {
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

}  // namespace tony
