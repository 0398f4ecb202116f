// The part of `tony submit` that `tony notebook` uses, too: from a job spec to the exit code.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/cli/command_line.h"
#include "runtime/client/submit_job.h"
#include "runtime/job/job_status.h"
#include "runtime/spec/job_spec_parser.h"

namespace tony {

using StatusSink = std::function<bool(const JobStatus&)>;  // WatchOptions::on_status

struct SubmitExtras {
  // Makes the function that gets each status of the job, before the job is submitted. The command then prints no table
  // and no changes itself. Not called with --detach.
  std::function<Result<StatusSink>(EventLoop&)> on_status{};
  // The command to suggest for a detached job, without the job's id.
  std::string_view next{};
  // Set if the job's files are those of another job.
  std::optional<PreparedJob> prepared{};
};

// Returns a kUsage error if the options that decide what a submit prints contradict each other.
Status CheckSubmitShow(const CommandLine& line);

// Submits the job. Unless --detach is given, waits for the job's end, and a signal kills the job. `line` has the
// options of `tony submit`. Returns the exit code of the command.
Result<int> SubmitAndWait(const CommandLine& line, ParsedJobSpec parsed, const SubmitExtras& extras = {});

}  // namespace tony
