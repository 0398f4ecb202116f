// Finds the job of a request id in any configured backend, and the job for a kill by request id, even before its
// submit.
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
  // The job of the record; nullopt: it was removed, or never created.
  std::optional<JobRecords> job;
};
// Returns the record of the request; a record whose job exists is preferred. nullopt: the request is unknown.
Result<std::optional<FoundRequest>> FindRequest(const RequestId& request);

// Returns the job to kill. nullopt: the request has no job yet, and a submit by the kill's owner will be refused.
// kNotFound: the request has no job, and the kill names no owner. This function does not send the kill.
Result<std::optional<JobRecords>> FindForKill(const RequestId& request, const KillRequest& kill,
                                              const ClientNotes& notes);

}  // namespace tony
