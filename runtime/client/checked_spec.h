// From properties to a job spec in which everything has been checked that can be before a job exists.
#pragma once

#include <filesystem>

#include "runtime/base/result.h"
#include "runtime/config/properties.h"
#include "runtime/spec/job_spec_parser.h"

namespace tony {

// Relative paths are relative to `directory`. kInvalid names all problems.
Result<ParsedJobSpec> CheckedJobSpec(const Properties& properties, const std::filesystem::path& directory);

}  // namespace tony
