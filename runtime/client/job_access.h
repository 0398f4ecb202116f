// Functions that find a job by its id or by a word that a person typed, and return its status without waiting for the
// job.
#pragma once

#include <optional>
#include <string>

#include "runtime/base/result.h"
#include "runtime/client/client_notes.h"
#include "runtime/job/job_status.h"
#include "runtime/records/job_records.h"

namespace tony {

// Returns the job with this id. Returns kNotFound if the job does not exist. Returns kUnavailable if the job runs under
// the local scheduler of another machine; the message names that machine.
Result<JobRecords> FindJob(const std::string& id);
// Returns the job; nullopt if `job` is empty, or if the job does not exist any more.
Result<std::optional<JobRecords>> FindIfExists(const std::optional<JobId>& job);

// Returns the content of status.json. If this file has not been written yet, returns a status that is made from the
// spec and the submission. If the machine was rebooted while the job ran, the returned status says that the reboot
// ended the job, even if the end is not written yet.
Result<JobStatus> StoredStatus(const JobRecords& records);

bool HasEnded(const JobStatus& status);

// Returns whether the job has not ended, and neither its keeper (the supervisor of the job) nor its AM runs.
bool HasNoAm(const JobRecords& records, const JobStatus& status);

// Returns whether the job has ended, none of its processes runs, and no process will be started to clean up after it.
bool IsGone(const JobRecords& records, const JobStatus& status);
bool IsGone(const JobRecords& records);  // does not read the job's status

// The status that a reader can get now. QueryStatus() sends a query to the AM of a job that has not ended, and waits
// for the answer for at most a second.
struct KnownStatus {
  JobStatus status;
  bool am_reachable = false;  // false if the job has ended
  bool unruled = false;
  // True if an engine has consumed the result (`tony ack`).
  bool acked = false;
  // The reason why the outputs of a job that succeeded cannot be returned; empty: the outputs can be returned.
  std::string outputs_problem;
};
Result<KnownStatus> QueryStatus(const JobRecords& records);

// Records that the workflow engine (Azkaban or Airflow) that owns the job has consumed the result of the ended job.
Status Acknowledge(const JobRecords& records, const OwnerToken& owner);

// Returns the document of `tony status --json`.
std::string ToJson(const KnownStatus& known);

// A search for the job that a person means without typing its whole id.

// Returns the job that a person means by `word`. The word is one of these, and the first match counts:
//   an id        found by FindJob(), before anything else is searched
//   last         the job that was submitted last
//   a name       the newest job of this name, among the running jobs and the newest thousand ended jobs
//   a beginning  at least four characters with which the id of exactly one job begins, or the part of the id after the
//                last - or _
// Unless the word is an id, a note names the job that was found. Returns kNotFound if no job matches, or if several
// jobs match. If a configured cluster cannot be queried, its error is returned unchanged.
Result<JobRecords> FindNamedJob(const std::string& word, const ClientNotes& notes);

}  // namespace tony
