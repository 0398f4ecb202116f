// The job of a request id, in whichever backend it is.
#pragma once

#include <optional>

#include "runtime/base/result.h"
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

}  // namespace tony
