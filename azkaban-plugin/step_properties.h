// What one step of an Azkaban flow is asked to do, from the properties that Azkaban gives its process.
#pragma once

#include <filesystem>

#include "azkaban-plugin/step_request.h"
#include "runtime/base/result.h"
#include "runtime/spec/job_spec_parser.h"

namespace tony::azkaban {

struct Step {
  StepRequest request;
  ParsedJobSpec job;
  std::filesystem::path attachment;  // where Azkaban looks for live status; empty: nowhere
};

// `property_file`: $JOB_PROP_FILE. Relative paths in it are relative to `directory`, the step's working folder.
// kInvalid names property, value and what was expected.
Result<Step> ReadStep(const std::filesystem::path& property_file, const std::filesystem::path& directory);

}  // namespace tony::azkaban
