// Options shared by several verbs: numbers and times, options that workflow engines use, and options of a job.
// ReadJobSpec() turns a command line into a job spec: steps 2 and 3 of a job's way in README.md.
#pragma once

#include <cstdint>
#include <map>
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

// These functions return nullopt if the option was not given. A kUsage error names the option and its value.
Result<std::optional<int64_t>> NumberOption(const CommandLine& line, const std::string& option);  // 0 or more
// Returns a duration in seconds or with a unit, such as "2", "0.5" or "10m" (ten minutes).
Result<std::optional<Duration>> SecondsOption(const CommandLine& line, const std::string& option);
// Returns the time that the option gives: an age, counted back from `now` ("14d", "12h", "30m", "10s"), or a time in
// UTC ("2026-11-21", "2026-11-21T09:30:15Z").
Result<std::optional<Instant>> TimeOption(const CommandLine& line, const std::string& option, Instant now);

std::optional<Duration> ParseAge(std::string_view text);  // e.g. "14d", "12h", "30m", "10s"

// Options that workflow engines use: the request id, the tokens, and further options that need one of them.

// These functions return an empty value if the option was not given. A kUsage error names the option and its value.
Result<RequestId> RequestIdOption(const CommandLine& line);
Result<OwnerToken> OwnerOption(const CommandLine& line, const std::string& option);
Result<WatcherToken> WatcherOption(const CommandLine& line, const std::string& option);

// Returns a kUsage error that names the option and the expected value. The refused value is shown as valid UTF-8, and
// is shortened if it is long.
Error RefusedOption(const CommandLine& line, const std::string& option, std::string_view expected);

Result<SubmitOrder> ReadSubmitOrder(const CommandLine& line);

// Returns the request of `tony kill`. The delay of the request counts from `now`.
Result<KillRequest> ReadKillRequest(const CommandLine& line, Instant now);

// Options that describe a job.

std::vector<OptionSpec> SpecOptions();  // e.g. -executes, -src_dir, -conf

// Returns the job spec of the command line, with all checks that are possible before a job exists. With --strict,
// warnings are errors.
Result<ParsedJobSpec> ReadJobSpec(const CommandLine& line);

// Returns the secret variables of --secrets-fd; empty without the option.
Result<std::map<std::string, std::string>> SecretsOption(const CommandLine& line);

// Returns Ok if `warnings` is empty, otherwise kInvalid with all warnings in its message.
Status NoWarnings(const std::vector<std::string>& warnings);

}  // namespace tony
