// Under which request id a step submits its job. It names the installation, the project, this execution and the step,
// so that no other server, database or project can meet the job; an attempt of the same execution finds it.
//
//   azkaban://HOST:PORT/PROJECT/UUID/FLOW/JOB   UUID: azkaban.flow.uuid, which each execution has of its own and all
//                                               of its attempts share
//   azkaban://HOST:PORT/PROJECT/-/FLOW/JOB      with tony.azkaban.replace-older: all executions have one id, and each
//                                               has a higher submission number than those that started before it
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/config/properties.h"
#include "runtime/job/claim.h"

namespace tony::azkaban {

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

}  // namespace tony::azkaban
