// Options of several verbs: numbers and times; those of the contract with workflow engines; and from a command line to
// a job spec, steps 2 and 3 of the way of a job in README.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/cli/command_line.h"
#include "runtime/client/submit_job.h"
#include "runtime/job/claim.h"
#include "runtime/spec/job_spec_parser.h"

namespace tony {

// Nothing if the option was not given; kUsage names option and value.
Result<std::optional<int64_t>> NumberOption(const CommandLine& line, const std::string& option);    // 0 or more
Result<std::optional<Duration>> SecondsOption(const CommandLine& line, const std::string& option);  // "2", "0.5", "10m"
// "14d", "12h", "30m", "10s" before `now`, or a time in UTC: "2026-11-21", "2026-11-21T09:30:15Z".
Result<std::optional<Instant>> TimeOption(const CommandLine& line, const std::string& option, Instant now);

std::optional<Duration> ParseAge(std::string_view text);  // "14d", "12h", "30m", "10s"

// Options of the contract with workflow engines: request id, tokens, and what stands beside them.

// Each is empty if the option was not given; kUsage names option and value.
Result<RequestId> RequestIdOption(const CommandLine& line);
Result<OwnerToken> OwnerOption(const CommandLine& line, const std::string& option);
Result<WatcherToken> WatcherOption(const CommandLine& line, const std::string& option);

// kUsage: what was expected of an option; its value is shown as far as it is short and UTF-8.
Error RefusedOption(const CommandLine& line, const std::string& option, std::string_view expected);

Result<SubmitOrder> ReadSubmitOrder(const CommandLine& line);

// The request of `kill`, from now on.
Result<KillRequest> ReadKillRequest(const CommandLine& line, Instant now);

// Options of a job.

std::vector<OptionSpec> SpecOptions();  // TonY's: -executes, -src_dir, -conf, ...

// Loads, parses and checks everything that can be checked before a job exists. With --strict warnings are errors.
Result<ParsedJobSpec> ReadJobSpec(const CommandLine& line);

// kInvalid with all of them, if there are any.
Status NoWarnings(const std::vector<std::string>& warnings);

}  // namespace tony
