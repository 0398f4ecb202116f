// Options of the contract with workflow engines: request id, tokens, and what stands beside them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/result.h"
#include "runtime/cli/command_line.h"
#include "runtime/client/submit_job.h"
#include "runtime/job/claim.h"

namespace tony {

// Each is empty if the option was not given; kUsage names option and value.
Result<RequestId> RequestIdOption(const CommandLine& line);
Result<OwnerToken> OwnerOption(const CommandLine& line, const std::string& option);
Result<WatcherToken> WatcherOption(const CommandLine& line, const std::string& option);

// kUsage: what was expected of an option; its value is shown as far as it is short and UTF-8.
Error RefusedOption(const CommandLine& line, const std::string& option, std::string_view expected);

Result<SubmitOrder> ReadSubmitOrder(const CommandLine& line);

// The request of `kill`, from now on.
Result<KillRequest> ReadKillRequest(const CommandLine& line, Instant now);

}  // namespace tony
