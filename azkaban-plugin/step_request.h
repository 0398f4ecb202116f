// Which properties make a job ask for more than its machine has. A flow that was written for a cluster asks for what
// that had, and who reads the step's log may not have written it. Pure.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/config/configuration.h"
#include "runtime/config/properties.h"
#include "runtime/job/claim.h"
#include "runtime/job/job_spec.h"
#include "runtime/spec/job_spec_parser.h"

namespace tony::azkaban {

// `refused`, by the check of the machine: with each role's number of tasks, memory and GPUs, as the properties that say
// them, their values and where they stand. An error about anything else comes back as it is.
Error WithWhatAsks(Error refused, const JobSpec& spec, const Configuration& configuration);

// The two files by which a step speaks to Azkaban. Azkaban's server reads them, maybe as another user, so neither is
// private; both have been made or named by Azkaban.

// Live status, an array of one JSON object: served while the step runs and kept when it has ended. Readers see the old
// content or the new.
Status WriteAttachment(const std::filesystem::path& file, std::string_view object);

// Properties for the next steps, into the file that Azkaban made: it may belong to another user, in a folder that is
// not ours, so it is neither replaced nor removed. Azkaban reads it only when the step has succeeded.
Status WriteOutputProperties(const std::filesystem::path& file, std::string_view object);

// Under which request id a step submits its job. It names the installation, the project, this execution and the step,
// so that no other server, database or project can meet the job; an attempt of the same execution finds it.
//
//   azkaban://HOST:PORT/PROJECT/UUID/FLOW/JOB   UUID: azkaban.flow.uuid, which each execution has of its own and all
//                                               of its attempts share
//   azkaban://HOST:PORT/PROJECT/-/FLOW/JOB      with tony.azkaban.replace-older: all executions have one id, and each
//                                               has a higher submission number than those that started before it

inline constexpr std::string_view kReplaceOlder = "tony.azkaban.replace-older";

struct StepRequest {
  RequestId id;
  int64_t submission = 0;
  bool replaces_older = false;
  bool is_first_try = true;        // attempt 0; a later one looks for the job of those before it
  std::vector<std::string> notes;  // what this Azkaban does not tell, and what follows; a line each
};

// kInvalid names what is missing or wrong.
Result<StepRequest> RequestOfStep(const Properties& properties);

// What tony.azkaban.replace-older says.
Result<bool> ReplacesOlder(const Properties& properties);

// What one step of an Azkaban flow is asked to do, from the properties that Azkaban gives its process.

struct Step {
  StepRequest request;
  ParsedJobSpec job;
  std::filesystem::path attachment;  // where Azkaban looks for live status; empty: nowhere
};

// `property_file`: $JOB_PROP_FILE. Relative paths in it are relative to `directory`, the step's working folder.
// kInvalid names property, value and what was expected.
Result<Step> ReadStep(const std::filesystem::path& property_file, const std::filesystem::path& directory);

}  // namespace tony::azkaban
