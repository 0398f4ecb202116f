// Processes that write the records of a job outside its own folder. The file system of these records may not respond. A
// process that writes there then cannot be killed, and its locks are not released, not even those of its other threads.
// Therefore keepers (supervisors of a job), and clients that find a lost job, never write there themselves. They wait
// for the writer for a while, and then leave it alone.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/job/job_status.h"
#include "runtime/records/job_records.h"

namespace tony {

// The work of these processes. Failures become lines in the log.
void WriteHistoryBegin(const JobRecords& records);  // when the AM starts (history_files.h)
void WriteEndedLine(const JobRecords& records);     // a line in ended.log (ended_log.h)
void WriteHistoryEnd(const JobRecords& records);    // when the job ended (history_files.h)

// Runs `work` in a process of its own and waits for it up to `patience`. For callers without an event loop. The process
// writes to the log of the job's keeper.
void WriteInChildProcess(const JobRecords& records, void (*work)(const JobRecords&), Duration patience);

// The status document of a job without an AM. The keeper makes it when no AM can be kept running. A client makes it
// when it finds a job whose machine was restarted.

// Returns the last status of the job, or one made from its spec, ended with `verdict`. A task that ran ends with the
// outcome that its executor kept, otherwise with the verdict's class. A status that has a verdict already is returned
// unchanged.
Result<JobStatus> EndedStatus(const JobRecords& records, const Verdict& verdict, Instant now);

// Returns the last status of the job, marked as degraded and not as ended. `trouble` says what the job waits for. Tasks
// whose executor kept an outcome have ended.
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

// Stores an end. `status` has a verdict. Returns the file, for people. kCannotWrite leaves nothing behind.
Result<std::filesystem::path> KeepUnwrittenEnd(const std::filesystem::path& ledger, JobStatus status);
// Returns the stored end of the job; nullopt: this user has stored none.
std::optional<JobStatus> FindUnwrittenEnd(const std::filesystem::path& ledger, const JobId& job);
void ForgetUnwrittenEnd(const std::filesystem::path& ledger, const JobId& job);

// Lost jobs: jobs that have ended without a record of that in their folder. Their machine was restarted while they ran,
// or their folder could not be written. None of their processes lives, and none may be started, because that would run
// the job a second time.

// Returns true if the job has ended without a record of that in its folder. For a caller that holds keeper.lock.
bool HasEndedUnrecorded(const JobRecords& records);

// Returns the same for other callers: false while a keeper or an AM lives.
bool IsLost(const JobRecords& records);

// Returns how a lost job ended. Writes nothing.
Result<JobStatus> LostStatus(const JobRecords& records);

// Finalizes a lost job: writes its final status, its line in the log of ended jobs, and its history for TonY's portal.
// The caller holds keeper.lock.
Status EndLostJob(const JobRecords& records);

// Finalizes the job if it is lost, under keeper.lock. Ok if it is not lost, or if another process does the same now.
Status FinalizeIfLost(const JobRecords& records);

}  // namespace tony
