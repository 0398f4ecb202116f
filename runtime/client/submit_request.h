// Submits under a request id: finds or makes the job, as the course of such a submit says (records/submit_course.h;
// submit_steps.h takes its steps). `tony submit --request-id` and Azkaban's adapter both come here.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/backend/am_launcher.h"
#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/client/contract_options.h"
#include "runtime/client/submit_watch.h"
#include "runtime/client/watch_job.h"
#include "runtime/records/job_records.h"
#include "runtime/records/staged_files.h"
#include "runtime/records/submit_course.h"
#include "runtime/spec/job_spec_parser.h"

namespace tony {

struct RequestedJob {
  SubmitOrder order;
  ParsedJobSpec job;
  std::function<void(const JobId&)> on_recorded;  // of a new one, before anything of it is started
};

struct SubmittedJob {
  int signal = 0;                         // the first that came, in time: the request id finds what there is of a job
  std::optional<JobRecords> records;      // nothing if there was a signal
  SubmitEnd end = SubmitEnd::kCreated;    // ... or attached, or adopted
  bool spec_differs = false;              // from the one that the job was submitted with, and keeps
  SourceSummary sources{};                // of a new one
  std::vector<std::string> warnings{};    // of its files
  std::vector<std::string> differs_in{};  // which parts of what is run (submit_digest.h)
};

// kNotPermitted: a newer submission is known, or the owner has been told to stop. kInvalid: what runs under the request
// was made of something else, and no engine asks.
Result<SubmittedJob> FindOrMakeJob(EventLoop& loop, Interrupts& interrupts, AmLauncher& launcher,
                                   const RequestedJob& asked);

// All of the verb, but reading its command line. Returns the exit code.
Result<int> SubmitRequest(EventLoop& loop, Interrupts& interrupts, AmLauncher& launcher, RequestedJob asked,
                          const SubmitShow& show);

// For people: "job J was submitted with other files, environment, and keeps them". Empty: nothing differs.
std::string DifferenceText(const SubmittedJob& job);

// What submit tells of itself beside the job, as JSON fields: "decision", "spec_differs", "differs_in", "warnings".
std::map<std::string, std::string> DecisionFields(const SubmittedJob& job, const std::vector<std::string>& warnings);

}  // namespace tony
