// Options whose values are numbers or times.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/time.h"
#include "runtime/cli/command_line.h"

namespace tony {

// Nothing if the option was not given; kUsage names option and value.
Result<std::optional<int64_t>> NumberOption(const CommandLine& line, const std::string& option);    // 0 or more
Result<std::optional<Duration>> SecondsOption(const CommandLine& line, const std::string& option);  // "2", "0.5", "10m"
// "14d", "12h", "30m", "10s" before `now`, or a time in UTC: "2026-11-21", "2026-11-21T09:30:15Z".
Result<std::optional<Instant>> TimeOption(const CommandLine& line, const std::string& option, Instant now);

std::optional<Duration> ParseAge(std::string_view text);  // "14d", "12h", "30m", "10s"

}  // namespace tony
