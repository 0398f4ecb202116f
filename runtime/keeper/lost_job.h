// What is kept of a job outside of its own folder is written by processes of their own. That place may be on a file
// system that does not answer: then whoever writes cannot be killed, nor do its locks end, not even those of its other
// threads. So keepers, and clients that find a lost job, never write there themselves. They wait for a while, and leave
// the writer alone with what it waits for.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/job/job_status.h"
#include "runtime/records/job_records.h"

namespace tony {

// The work of such processes. What goes wrong is a line in the log.
void WriteHistoryBegin(const JobRecords& records);  // history_files.h, for a job whose master is starting
void WriteEndedLine(const JobRecords& records);     // ended_log.h
void WriteHistoryEnd(const JobRecords& records);    // history_files.h

// `work` in a process of its own, and waits for it for so long: for callers without an event loop. The process writes
// to the log of the job's keeper.
void WriteApart(const JobRecords& records, void (*work)(const JobRecords&), Duration patience);

// The status document of a job that no AM writes any more: made by the keeper when no AM can be kept running, and by
// whoever finds a job whose machine has been started anew.

// The last document of the job, or one made from its spec, ended with `verdict`. A task that ran ends as its executor
// kept it, else with the verdict's class. A document that has a verdict already is returned as it is.
Result<JobStatus> EndedStatus(const JobRecords& records, const Verdict& verdict, Instant now);

// The same, not ended: `trouble` says what it waits for. Tasks whose outcome their executor kept have ended.
Result<JobStatus> TroubledStatus(const JobRecords& records, const std::string& trouble);

// FAILED, class infra, with the last lines of am.log.
Verdict InfraVerdict(const JobRecords& records, const std::string& reason);

std::string LastLinesOfAm(const JobRecords& records);  // of am.log, some twenty; may be empty

// The end of a job whose own folder takes no record of it, because its disk fails, is read-only or is full. The keeper
// leaves it in the ledger's folder, which lies on another file system in most installations. The next command that
// looks at the job finds it there, and writes it into the job's folder as soon as that can be written (lost_job.h).
//
//   .end-<job id>.<random>   the status document, without tasks and restarts
//
// A file of another user counts for nothing, and the random part keeps others from taking the name first.

// `status` has a verdict. kCannotWrite leaves nothing behind. Returns the file, for people.
Result<std::filesystem::path> KeepUnwrittenEnd(const std::filesystem::path& ledger, JobStatus status);
// Nothing: there is none of this process's user.
std::optional<JobStatus> FindUnwrittenEnd(const std::filesystem::path& ledger, const JobId& job);
void ForgetUnwrittenEnd(const std::filesystem::path& ledger, const JobId& job);

// Jobs that have ended without a record of it in their folder: their machine was started anew while they ran, or their
// folder could not be written (lost_job.h). Nothing of them lives, and nothing may be started for them, because
// that would run them a second time.

// True where the job has ended without a record of that in its folder. For a caller that holds keeper.lock.
bool HasEndedUnrecorded(const JobRecords& records);

// The same for others: nobody keeps it.
bool IsLost(const JobRecords& records);

// How such a job ended. Writes nothing.
Result<JobStatus> LostStatus(const JobRecords& records);

// Writes that as the final status, for ever, into the log of ended jobs and the history for TonY's portal. The caller
// holds keeper.lock.
Status EndLostJob(const JobRecords& records);

// Takes the lock for it. Harmless if the job is not lost, or somebody else does the same now.
Status SettleIfLost(const JobRecords& records);

}  // namespace tony
