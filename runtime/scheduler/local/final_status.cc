#include "runtime/scheduler/local/final_status.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/store/attempt_folder.h"
#include "runtime/store/claim_record.h"

namespace tony {
namespace {

constexpr off_t kTailBytes = 2000;  // some twenty lines: what a person reads first

Result<JobStatus> FreshStatus(const JobRecords& records) {
  TRY_ASSIGN(const Submission submission, records.ReadSubmission());
  JobStatus status;
  status.job = records.job();
  status.user = submission.user;
  status.state = "ACCEPTED";
  status.submitted = submission.time;
  status.request = submission.request;
  status.number = submission.number;
  status.claim = submission.claim;
  const auto spec = records.ReadSpec();  // one that cannot be read may be why there is no AM
  if (!spec.ok()) return status;
  status.name = spec->name;
  status.framework = ToString(spec->framework);
  status.tags = spec->tags;
  for (const auto& role : spec->roles)
    for (int index = 0; index < role.instances; ++index) status.tasks.push_back({TaskId{role.name, index}, "waiting"});
  return status;
}

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

// The AM writes down who owns and watches the job before it tells anybody; its document comes later.
void CatchUpWithClaim(const JobRecords& records, JobStatus& status) {
  const auto told = ReadClaimRecord(records);
  if (!told.ok()) return;
  status.claim = told->claim;
  status.watcher = told->watcher;
}

Result<JobStatus> LastStatus(const JobRecords& records) {
  auto last = records.ReadStatus();
  TRY_ASSIGN(JobStatus status, last.ok() && *last ? Result<JobStatus>(**std::move(last)) : FreshStatus(records));
  if (!status.verdict) CatchUpWithClaim(records, status);
  return status;
}

std::string AttemptState(const Outcome& outcome) {
  if (outcome.Succeeded()) return "succeeded";
  if (outcome.cls == OutcomeClass::kKilled) return "killed";
  return outcome.cls == OutcomeClass::kNodeLost ? "lost" : "failed";
}

void EndTask(TaskStatus& task, const Outcome& outcome, Instant now) {
  task.state = "done";
  task.attempt_state = AttemptState(outcome);
  task.outcome = outcome;
  task.ended = now;
  task.pid = 0;
  task.suspect = false;
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
  status.state = ToString(verdict.state);
  status.verdict = verdict;
  status.trouble.clear();
  status.ended = std::max(now, status.submitted);
  ++status.seq;
  EndTasksWithKeptOutcome(records, status, *status.ended);
  for (auto& task : status.tasks) {
    if (task.state == "active") EndTask(task, {verdict.cls, std::nullopt, "ended with its job", ""}, *status.ended);
    task.state = "done";
  }
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
