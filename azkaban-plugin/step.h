// A step of `type=tony`, which Azkaban's ProcessJob starts. The step reads its properties, submits the job under its
// request id, follows the job, and exits according to the job's verdict. All output goes to standard output.
//
//   read -> submit (create, attach or adopt) -> follow -> verdict -> output properties -> exit 0
//                |                               |            \-> failure report -----> exit 1
//                \-- SIGTERM: revoke, kill ------+-- SIGTERM: record the kill --------> exit 143
//                                                \-- Azkaban's server has died -------> exit 69
//
// After exit 143 the recorded kill ends the job. After exit 69 the job continues: a later attempt of the step attaches
// to the job, or the job's watch timeout ends it.
#pragma once

#include <filesystem>

#include "runtime/base/result.h"

namespace tony::azkaban {

struct StepPlace {
  std::filesystem::path properties;  // $JOB_PROP_FILE
  std::filesystem::path outputs;     // $JOB_OUTPUT_PROP_FILE; empty: not wanted
  std::filesystem::path directory;   // the step's working folder
};

// Reads the place of the step from the environment variables that Azkaban sets, and from the current folder.
Result<StepPlace> PlaceOfStep();

// Runs the step. Prints the reason for the exit code, and returns the code.
int RunStep();

}  // namespace tony::azkaban
