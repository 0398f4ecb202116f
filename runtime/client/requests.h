// Functions that find a job by its request id in any configured backend. A kill can name a request even before the
// submit of that request.
#pragma once

#include <optional>

#include "runtime/base/result.h"
#include "runtime/client/client_notes.h"
#include "runtime/job/claim.h"
#include "runtime/records/job_records.h"
#include "runtime/records/submit_machine.h"

namespace tony {

struct FoundRequest {
  RequestRecord record;
  // The job that the record names; nullopt: it was removed, or never created.
  std::optional<JobRecords> job;
};
// Returns the record of the request; nullopt if the request is unknown. If several backends have a record, a record
// whose job exists is preferred.
Result<std::optional<FoundRequest>> FindRequest(const RequestId& request);

// Returns the job to kill, without sending the kill. Returns nullopt if the request has no job yet; from now on, a
// submit by the kill's owner is refused. Returns kNotFound if the request has no job, and the kill names no owner.
Result<std::optional<JobRecords>> FindForKill(const RequestId& request, const KillRequest& kill,
                                              const ClientNotes& notes);

}  // namespace tony
