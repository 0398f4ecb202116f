// What a submit asks to be run, as a digest to compare it by.
#pragma once

#include <string>

#include "runtime/records/submit_course.h"
#include "runtime/spec/job_spec_parser.h"

namespace tony {

// `content`: of the job's files (StagedFiles). Of secrets, and of variables with a secret's name (IsSecretName), the
// name alone counts.
SubmitDigest DigestOf(const ParsedJobSpec& job, const std::string& content);

}  // namespace tony
