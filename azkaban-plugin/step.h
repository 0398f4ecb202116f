// A step of `type=tony`, which Azkaban's ProcessJob starts. Reads the step's properties, submits the job under the
// request id of the step, follows the job, and exits according to its verdict. All output goes to standard output.
//
//   read -> submit (create, attach or adopt) -> follow -> verdict -> output properties -> exit 0
//                |                               |            \-> failure report -----> exit 1
//                \-- SIGTERM: revoke, kill ------+-- SIGTERM: record the kill --------> exit 143
//                                                \-- Azkaban's server has died -------> exit 69
//
// After exit 143 the job ends by itself. After exit 69 the job continues: a later attempt attaches to the job, or its
// watch timeout ends it.
#pragma once

#include <filesystem>

#include "runtime/base/result.h"

namespace tony::azkaban {

struct StepPlace {
  std::filesystem::path properties;  // $JOB_PROP_FILE
  std::filesystem::path outputs;     // $JOB_OUTPUT_PROP_FILE; empty: not wanted
  std::filesystem::path directory;   // the step's working folder
};

// Reads the place from the environment variables that Azkaban sets, and from the current folder.
Result<StepPlace> PlaceOfStep();

// Prints the reason for the exit code, and returns the code.
int RunStep();

}  // namespace tony::azkaban
