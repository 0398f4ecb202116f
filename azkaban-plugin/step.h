// One step of `type=tony`: what Azkaban's ProcessJob starts. Reads the step's properties, submits the job under the
// request id of the step, follows it, and ends with its verdict as exit code. All its output goes to standard output.
//
//   read -> submit (create, attach or adopt) -> follow -> verdict -> output properties -> exit 0
//                |                               |            \-> failure report -----> exit 1
//                \-- SIGTERM: revoke, kill ------+-- SIGTERM: record the kill --------> exit 143
//                                                \-- Azkaban's server has died -------> exit 69
//
// After exit 143 the job ends by itself. After exit 69 the job goes on: a later attempt attaches, or its watch timeout
// ends it.
#pragma once

#include <filesystem>

#include "runtime/base/result.h"

namespace tony::azkaban {

struct StepPlace {
  std::filesystem::path properties;  // $JOB_PROP_FILE
  std::filesystem::path outputs;     // $JOB_OUTPUT_PROP_FILE; empty: nobody waits for any
  std::filesystem::path directory;   // the step's working folder
};

// From the environment, which keeps neither variable: they are not for the job's tasks.
Result<StepPlace> PlaceOfStep();

// Returns the exit code, the reason of which has been said.
int RunStep();

}  // namespace tony::azkaban
