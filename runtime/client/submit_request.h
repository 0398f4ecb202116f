// `tony submit --request-id`: finds or makes the job of a request, as the course of such a submit says
// (request/submit_course.h; submit_steps.h takes its steps), and then does what submit does with its job.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/client/contract_options.h"
#include "runtime/client/watch_job.h"
#include "runtime/job/job_spec_parser.h"
#include "runtime/request/submit_course.h"
#include "runtime/scheduler/am_launcher.h"

namespace tony {

struct RequestedJob {
  SubmitOrder order;
  ParsedJobSpec job;
  bool json = false;
  bool detach = false;
};

// Returns the exit code. kNotPermitted: a newer submission is known, or the owner has been told to stop.
Result<int> SubmitRequest(EventLoop& loop, Interrupts& interrupts, AmLauncher& launcher, const RequestedJob& asked);

// What submit tells of itself beside the job, as JSON fields: "decision", "spec_differs", "warnings".
std::map<std::string, std::string> DecisionFields(SubmitEnd end, bool spec_differs,
                                                  const std::vector<std::string>& warnings);

}  // namespace tony
