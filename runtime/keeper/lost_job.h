// Child processes that write the records of a job outside its own folder. The file system of these records may not
// respond. A process that writes to such a file system cannot be killed, and the kernel releases none of its locks.
// Therefore a child process writes there. Keepers (supervisors of a job), and clients that find a lost job, start this
// process and wait for it only for a limited time.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/job/job_status.h"
#include "runtime/records/job_records.h"

namespace tony {

// The following functions are the work of these writers. They log their failures.

// Writes the beginning of the job's history when the AM starts (history_files.h).
void WriteHistoryBegin(const JobRecords& records);
// Writes the job's line in ended.log (ended_log.h).
void WriteEndedLine(const JobRecords& records);
// Writes the end of the job's history (history_files.h).
void WriteHistoryEnd(const JobRecords& records);

// Runs `work` in a child process and waits for its exit up to `patience`. The caller needs no event loop. The output of
// the child goes to the log of the job's keeper.
void WriteInChildProcess(const JobRecords& records, void (*work)(const JobRecords&), Duration patience);

// The status document of a job without an AM. The keeper makes it when no AM can be kept running. A client makes it
// when it finds a job whose machine was restarted.

// Returns the final status of the job: its last status, or a status made from its spec, ended with `verdict`. A task
// that ran ends with the outcome that its executor stored, otherwise with the verdict's class. A last status that
// already has a verdict is returned unchanged.
Result<JobStatus> EndedStatus(const JobRecords& records, const Verdict& verdict, Instant now);

// Returns the last status of the job, marked as degraded and not as ended. `trouble` describes what the job waits for.
// A task whose executor stored an outcome counts as ended.
Result<JobStatus> DegradedStatus(const JobRecords& records, const std::string& trouble);

// Returns the verdict FAILED of class infra, with the last lines of am.log.
Verdict InfraVerdict(const JobRecords& records, const std::string& reason);

std::string LastLinesOfAm(const JobRecords& records);  // about twenty; may be empty

// The end of a job whose own folder cannot record it, because its disk fails, is read-only or is full. The keeper
// stores the end in the ledger's folder, which is on another file system in most installations. The next command that
// reads the job finds the end there, and writes it into the job's folder as soon as that is writable.
//
//   .end-<job id>.<random>   the status document, without tasks and restarts
//
// A file of another user is ignored, and the random part keeps others from taking the name first.

// Stores the end of a job. `status` must have a verdict. Returns the path of the file, for messages. After kCannotWrite
// no file is left behind.
Result<std::filesystem::path> KeepUnwrittenEnd(const std::filesystem::path& ledger, JobStatus status);
// Returns the stored end of the job; nullopt: this user has not stored one.
std::optional<JobStatus> FindUnwrittenEnd(const std::filesystem::path& ledger, const JobId& job);
void ForgetUnwrittenEnd(const std::filesystem::path& ledger, const JobId& job);

// Lost jobs: jobs that have ended, while their folder has no record of the end. Their machine was restarted while they
// ran, or their folder could not be written. No process of a lost job lives, and none may be started, because that
// would run the job a second time.

// Returns true if the job has ended and its folder has no record of the end. The caller holds keeper.lock.
bool HasEndedUnrecorded(const JobRecords& records);

// Returns true if the job is lost, for callers that do not hold keeper.lock. The result is false while a keeper or an
// AM lives.
bool IsLost(const JobRecords& records);

// Returns how a lost job ended. Writes nothing.
Result<JobStatus> LostStatus(const JobRecords& records);

// Finalizes a lost job: writes its final status, its line in the log of ended jobs, and its history for TonY's portal.
// The caller holds keeper.lock.
Status EndLostJob(const JobRecords& records);

// Finalizes the job under keeper.lock if it is lost. Returns Ok if the job is not lost, or if another process is
// finalizing it now.
Status FinalizeIfLost(const JobRecords& records);

}  // namespace tony
