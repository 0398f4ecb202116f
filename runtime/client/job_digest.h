// The digest of what a submit runs, by which submits are compared.
#pragma once

#include <string>

#include "runtime/records/submit_machine.h"
#include "runtime/spec/job_spec_parser.h"

namespace tony {

// `content` is the hash of the job's files (StagedFiles::content). Secrets, and variables with a secret's name
// (IsSecretName), count by their names only.
SubmitDigest DigestOf(const ParsedJobSpec& job, const std::string& content);

}  // namespace tony
