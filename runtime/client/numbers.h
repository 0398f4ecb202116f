// Options whose values are numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/base/time.h"
#include "runtime/client/command_line.h"

namespace tony {

// Nothing if the option was not given; kUsage names option and value.
Result<std::optional<int64_t>> NumberOption(const CommandLine& line, const std::string& option);    // 0 or more
Result<std::optional<Duration>> SecondsOption(const CommandLine& line, const std::string& option);  // "2", "0.5"

}  // namespace tony
