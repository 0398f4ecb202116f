// Functions that submit a job. With a request id, the job is found or created by the steps of a SubmitMachine
// (records/submit_machine.h); submit_steps.h executes these steps. Without a request id, the job is created. `tony
// submit` and Azkaban's adapter both call FindOrMakeJob().
#pragma once

#include <filesystem>
#include <functional>
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
#include "runtime/records/submit_machine.h"
#include "runtime/spec/job_spec_parser.h"

namespace tony {

// The options of a submit, without the spec.
struct SubmitOrder {
  RequestId request;  // empty: `ask` is not used
  SubmitAsk ask;
  Claim claim;
};
// A job whose files are staged already, because they are those of another job.
struct PreparedJob {
  StagedFiles staged;
  // "NAME=value"; they replace this process's variables.
  std::vector<std::string> environment;
  // Called when the job's folder exists and nothing of the job has started. An error discards the job.
  std::function<Status(const JobRecords&)> fill = [](const JobRecords&) { return Ok(); };
};

struct RequestedJob {
  SubmitOrder order;
  ParsedJobSpec job;
  // The id that the backend's check of the job has reserved; if empty, the job store chooses the id.
  JobId id = {};
  std::optional<PreparedJob> prepared = {};
};

struct SubmittedJob {
  // The first signal, if it stopped the submit. If the job was already recorded, its request id finds it.
  int signal = 0;
  // The work that the signal stopped, "staging" or "sending". Set only without a request id.
  std::string_view stopped_work{};
  std::optional<JobRecords> records;    // nullopt: stopped by a signal
  SubmitEnd end = SubmitEnd::kCreated;  // created, attached or adopted
  // True if the spec of the found job differs from the spec of this submit. The job keeps its own spec.
  bool spec_differs = false;
  SourceSummary sources{};              // sources of a new job
  std::vector<std::string> warnings{};  // warnings about a new job's files
  // The parts of the digest in which the job differs from this submit (submit_machine.h).
  std::vector<std::string> differs_in{};
};

// Finds or creates the job. Returns kNotPermitted if a newer submission is known, or if the owner was revoked. Returns
// kInvalid if the caller is not an engine, and the request has a running job with other content (`differs_in`).
Result<SubmittedJob> FindOrMakeJob(EventLoop& loop, Interrupts& interrupts, AmLauncher& launcher,
                                   const ClientNotes& notes, const RequestedJob& asked);

// Returns a warning for people, e.g. "job J was submitted before with other files, environment; it keeps those". The
// warning is empty if nothing differs.
std::string DifferenceText(const SubmittedJob& job);

// Returns the JSON fields that a submit with a request id adds to its document: "decision", "spec_differs",
// "differs_in", "warnings", and "sources". For a submit without a request id, SourceFields() returns "sources" alone.
std::map<std::string, std::string> DecisionFields(const SubmittedJob& job, const std::vector<std::string>& warnings);
std::map<std::string, std::string> SourceFields(const SubmittedJob& job);

// Returns the files of the source folder as JSON, e.g.
// {"files":12,"bytes":1234,"left_out":[{"rule":".git","paths":[".git"],"files":31,"bytes":4000}]}. Returns "" if the
// job has no source folder.
std::string SourceJson(const SourceSummary& sources);

// A job spec from properties, with all checks that are possible before a job exists.

// Returns the job spec. Relative paths start at `directory`. A kInvalid error names all problems.
Result<ParsedJobSpec> CheckedJobSpec(const Properties& properties, const std::filesystem::path& directory);

}  // namespace tony
