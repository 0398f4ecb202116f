// Submits a job. Under a request id it finds the job or makes it, as the course of such a submit says
// (records/submit_course.h; submit_steps.h takes its steps); without one it makes it. `tony submit` and Azkaban's
// adapter both come here.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/backend/am_launcher.h"
#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/client/client_notes.h"
#include "runtime/client/watch_job.h"
#include "runtime/config/properties.h"
#include "runtime/job/claim.h"
#include "runtime/records/job_records.h"
#include "runtime/records/staged_files.h"
#include "runtime/records/submit_course.h"
#include "runtime/spec/job_spec_parser.h"

namespace tony {

// What submit was asked, beside the spec.
struct SubmitOrder {
  RequestId request;  // empty: none, and `ask` says nothing
  SubmitAsk ask;
  Claim claim;
};
struct RequestedJob {
  SubmitOrder order;
  ParsedJobSpec job;
};

struct SubmittedJob {
  int signal = 0;                         // the first that came, in time: the request id finds what there is of a job
  std::string_view stopped_work{};        // "staging" or "sending": what the signal stopped, of a job without a request
  std::optional<JobRecords> records;      // nothing if there was a signal
  SubmitEnd end = SubmitEnd::kCreated;    // ... or attached, or adopted
  bool spec_differs = false;              // from the one that the job was submitted with, and keeps
  SourceSummary sources{};                // of a new one
  std::vector<std::string> warnings{};    // of its files
  std::vector<std::string> differs_in{};  // which parts of what is run (submit_course.h)
};

// kNotPermitted: a newer submission is known, or the owner has been told to stop. kInvalid: what runs under the request
// was made of something else, and no engine asks.
Result<SubmittedJob> FindOrMakeJob(EventLoop& loop, Interrupts& interrupts, AmLauncher& launcher,
                                   const ClientNotes& notes, const RequestedJob& asked);

// For people: "job J was submitted with other files, environment, and keeps them". Empty: nothing differs.
std::string DifferenceText(const SubmittedJob& job);

// What a submit under a request id tells of itself beside the job, as JSON fields: "decision", "spec_differs",
// "differs_in", "warnings"; and "sources", as without a request.
std::map<std::string, std::string> DecisionFields(const SubmittedJob& job, const std::vector<std::string>& warnings);
std::map<std::string, std::string> SourceFields(const SubmittedJob& job);

// {"files":12,"bytes":1234,"left_out":[{"rule":".git","paths":[".git"],"files":31,"bytes":4000}]}; "" where there is
// none.
std::string SourceJson(const SourceSummary& sources);

// From properties to a job spec in which everything has been checked that can be before a job exists.

// Relative paths are relative to `directory`. kInvalid names all problems.
Result<ParsedJobSpec> CheckedJobSpec(const Properties& properties, const std::filesystem::path& directory);

}  // namespace tony
