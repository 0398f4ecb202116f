// The digest of a job's spec and files. Submits under one request id are compared by their digests.
#pragma once

#include <string>

#include "runtime/records/submit_machine.h"
#include "runtime/spec/job_spec_parser.h"

namespace tony {

// Returns the digest of the job. `content` is the hash of the job's files (StagedFiles::content). Secrets, and
// variables with a secret's name (IsSecretName), are part of the digest by their names only.
SubmitDigest DigestOf(const ParsedJobSpec& job, const std::string& content);

}  // namespace tony
