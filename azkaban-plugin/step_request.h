// The request of a step: the job and its request id, the message if a machine cannot hold the job, and the files that a
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

// If `refused` says that this machine cannot hold the job, adds a list of the properties that request the resources.
// The list has each role's number of tasks, memory and GPUs, with values and sources. The list helps because a flow
// that was written for a cluster may request more than one machine has, and the reader of the step's log may not be the
// flow's author. Any other error is returned unchanged. Pure.
Error WithRequestedResources(Error refused, const JobSpec& spec, const Configuration& configuration);

// A step passes data to Azkaban in two files, which Azkaban has made or named. Azkaban's server may read them as
// another user, so neither file is private.

// Writes the live status, an array with one JSON object. Azkaban serves the file while the step runs, and keeps it
// after the end of the step. Readers get either the old content or the new content.
Status WriteAttachment(const std::filesystem::path& file, std::string_view object);

// Writes the properties for the next steps into the file that Azkaban made. The file and its folder may belong to
// another user, so the file is neither replaced nor removed. Azkaban reads the file only if the step has succeeded.
Status WriteOutputProperties(const std::filesystem::path& file, std::string_view object);

// The request id under which a step submits its job. The id contains the installation, the project, this execution and
// the step. Therefore another attempt of the same execution finds the job, and no step of another server, database or
// project does.
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
  // True for attempt 0. A later attempt searches for the job of the earlier attempts of the step.
  bool is_first_try = true;
  // Lines about properties that this Azkaban does not set, with the consequences.
  std::vector<std::string> notes;
};

// Returns the request. The error kInvalid contains the missing or wrong property.
Result<StepRequest> RequestOfStep(const Properties& properties);

// Returns the value of tony.azkaban.replace-older.
Result<bool> ReplacesOlder(const Properties& properties);

// A step of an Azkaban flow, as it is read from the properties that Azkaban passes to the step's process.

struct Step {
  StepRequest request;
  ParsedJobSpec job;
  std::filesystem::path attachment;  // file for live status, or empty
  // The user for whom the step acts on a Hadoop cluster: user.to.proxy, if azkaban.should.proxy.user is true.
  std::string proxied;
};

// Reads the step. `property_file` is $JOB_PROP_FILE. Relative paths in the file are relative to `directory`, the step's
// working folder. The error kInvalid contains the property, its value and the expected values.
Result<Step> ReadStep(const std::filesystem::path& property_file, const std::filesystem::path& directory);

}  // namespace tony::azkaban
