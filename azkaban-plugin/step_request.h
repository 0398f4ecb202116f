// Under which request id a step submits its job. It names the installation, the project, this execution and the step,
// so that no other server, database or project can meet the job; an attempt of the same execution finds it.
//
//   azkaban://HOST:PORT/PROJECT/UUID/FLOW/JOB   UUID: azkaban.flow.uuid, which each execution has of its own and all
//                                               of its attempts share
#pragma once

#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/config/properties.h"
#include "runtime/job/claim.h"

namespace tony::azkaban {

struct StepRequest {
  RequestId id;
  bool is_first_try = true;        // attempt 0; a later one looks for the job of those before it
  std::vector<std::string> notes;  // what this Azkaban does not tell, and what follows; a line each
};

// kInvalid names what is missing or wrong.
Result<StepRequest> RequestOfStep(const Properties& properties);

}  // namespace tony::azkaban
