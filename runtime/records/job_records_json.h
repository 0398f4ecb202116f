// The JSON documents of a job's folder that are not shown to users.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/records/job_records.h"

namespace tony {

std::string ToJson(const LeaseRecord& record);
std::string ToJson(const Submission& submission);
std::string ToJson(const KillRequest& request);
std::string JoinVariables(const std::vector<std::string>& variables);  // "NAME=value\0..."
// kInvalid names the field.
Result<LeaseRecord> LeaseRecordFromJson(std::string_view json);
Result<Submission> SubmissionFromJson(std::string_view json);
Result<KillRequest> KillRequestFromJson(std::string_view json);

}  // namespace tony
