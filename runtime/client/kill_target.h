// Which job a kill by request id is for, also where its submit is still to come.
#pragma once

#include <optional>

#include "runtime/base/result.h"
#include "runtime/client/client_notes.h"
#include "runtime/job/claim.h"
#include "runtime/records/job_records.h"

namespace tony {

// Nothing: there is no job yet, and a submit by the kill's owner will be refused. kNotFound: there is none, and the
// kill names no owner. The kill itself is not told to anybody.
Result<std::optional<JobRecords>> FindForKill(const RequestId& request, const KillRequest& kill,
                                              const ClientNotes& notes);

}  // namespace tony
