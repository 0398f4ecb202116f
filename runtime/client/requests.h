// The job of a request id, in whichever backend it is; and which job a kill by request id is for, also where its submit
// is still to come.
#pragma once

#include <optional>

#include "runtime/base/result.h"
#include "runtime/client/client_notes.h"
#include "runtime/job/claim.h"
#include "runtime/records/job_records.h"
#include "runtime/records/submit_course.h"

namespace tony {

struct FoundRequest {
  RequestRecord record;
  std::optional<JobRecords> job;  // of the record; nothing: it is gone, or was never made
};
// One that has a job goes before one that has none. Nothing: never heard of.
Result<std::optional<FoundRequest>> FindRequest(const RequestId& request);

// Nothing: there is no job yet, and a submit by the kill's owner will be refused. kNotFound: there is none, and the
// kill names no owner. The kill itself is not told to anybody.
Result<std::optional<JobRecords>> FindForKill(const RequestId& request, const KillRequest& kill,
                                              const ClientNotes& notes);

}  // namespace tony
