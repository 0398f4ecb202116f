// Finding a job by its id or by what a person typed, and what is known of it without waiting.
#pragma once

#include <optional>
#include <string>

#include "runtime/base/result.h"
#include "runtime/client/client_notes.h"
#include "runtime/job/job_status.h"
#include "runtime/records/job_records.h"

namespace tony {

// kNotFound: no such job. kUnavailable: it runs under the local scheduler of another machine, which the message names.
Result<JobRecords> FindJob(const std::string& id);
// Nothing: no id, or no job of it (any more).
Result<std::optional<JobRecords>> FindIfThere(const std::optional<JobId>& job);

// status.json; before it has been written for the first time, a document made of spec and submission. A job whose
// machine was restarted while it ran has ended with that reason, whether or not that is written down yet.
Result<JobStatus> StoredStatus(const JobRecords& records);

bool HasEnded(const JobStatus& status);

// Whether the job has not ended and neither keeper nor AM lives.
bool IsUnruled(const JobRecords& records, const JobStatus& status);

// Whether the job has ended, nothing of it runs, and nothing will be started to sweep up after it.
bool IsGone(const JobRecords& records, const JobStatus& status);
bool IsGone(const JobRecords& records);  // of one whose status nobody has to read for it

// What a reader can know now. Asks the AM of a job that has not ended, for at most a second.
struct KnownStatus {
  JobStatus status;
  bool am_reachable = false;  // always false once the job has ended
  bool unruled = false;
  bool acked = false;           // `tony ack`: its engine has consumed the result
  std::string outputs_problem;  // why the outputs of a job that succeeded cannot be had
};
Result<KnownStatus> AskStatus(const JobRecords& records);

// Records that `owner`'s engine has consumed the result of a job that has ended.
Status Acknowledge(const JobRecords& records, const OwnerToken& owner);

// The document of `tony status --json`.
std::string ToJson(const KnownStatus& known);

// Which job a person means, who does not type its whole id.

// `word` is, and whatever comes first counts:
//   an id        as FindJob() has it: what programs give is never looked for elsewhere
//   last         the job that was submitted last
//   a name       the newest job of this name, among those that run and the newest thousand that have ended
//   a beginning  at least four characters with which the id of one job alone begins, or its part behind the last - or _
// Unless it was an id, a note says which one it is. kNotFound as FindJob(), or what there is several of;
// whatever keeps a configured cluster from being asked.
Result<JobRecords> FindNamedJob(const std::string& word, const ClientNotes& notes);

}  // namespace tony
