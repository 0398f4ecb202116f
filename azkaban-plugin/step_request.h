// The request of a step: the job and its request id; the message if a machine cannot hold the job; and the files that a
// step writes for Azkaban.
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

// Adds to `refused`, an error of the machine's check, the properties that set the number of tasks, memory and GPUs of
// each role, with their values and sources. A flow that was written for a cluster requests what that cluster had, and
// the reader of the step's log may not be its author. Any other error is returned unchanged. Pure.
Error WithRequestedResources(Error refused, const JobSpec& spec, const Configuration& configuration);

// The two files in which a step passes data to Azkaban. Azkaban's server reads them, maybe as another user, so neither
// is private. Azkaban has made or named both.

// Writes the live status, an array of one JSON object. Azkaban serves the file while the step runs, and keeps it after
// the end. Readers see either the old content or the new content.
Status WriteAttachment(const std::filesystem::path& file, std::string_view object);

// Writes the properties for the next steps into the file that Azkaban made. That file may belong to another user, in
// another user's folder, so it is neither replaced nor removed. Azkaban reads the file only if the step has succeeded.
Status WriteOutputProperties(const std::filesystem::path& file, std::string_view object);

// The request id under which a step submits its job. The id names the installation, the project, this execution and
// the step. Therefore no other server, database or project can find the job, but another attempt of the same execution
// finds it.
//
//   azkaban://HOST:PORT/PROJECT/UUID/FLOW/JOB   UUID: azkaban.flow.uuid, which is different for each execution and
//                                               shared by all its attempts
//   azkaban://HOST:PORT/PROJECT/-/FLOW/JOB      with tony.azkaban.replace-older: all executions have one id, and each
//                                               has a higher submission number than executions that started earlier

inline constexpr std::string_view kReplaceOlder = "tony.azkaban.replace-older";

struct StepRequest {
  RequestId id;
  int64_t submission = 0;
  bool replaces_older = false;
  // True for attempt 0. A later attempt searches for the job of the earlier attempts.
  bool is_first_try = true;
  // A line for each property that this Azkaban does not set, with the consequence.
  std::vector<std::string> notes;
};

// Returns kInvalid, which names the missing or wrong property.
Result<StepRequest> RequestOfStep(const Properties& properties);

// Returns the value of tony.azkaban.replace-older.
Result<bool> ReplacesOlder(const Properties& properties);

// The work of one step of an Azkaban flow, from the properties that Azkaban passes to its process.

struct Step {
  StepRequest request;
  ParsedJobSpec job;
  std::filesystem::path attachment;  // file for live status; empty: none
};

// `property_file` is $JOB_PROP_FILE. Relative paths in it are relative to `directory`, the step's working folder.
// Returns kInvalid, which names the property, its value and the expected values.
Result<Step> ReadStep(const std::filesystem::path& property_file, const std::filesystem::path& directory);

}  // namespace tony::azkaban
