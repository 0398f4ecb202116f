// A program's own report of its failure, in the file that $TONY_ERROR_FILE names.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/result.h"
#include "runtime/job/outcome.h"

namespace tony {

struct ErrorReport {
  std::optional<OutcomeClass> cls;
  Advice advice = Advice::kNone;
  std::string message;  // may have several lines
  bool operator==(const ErrorReport&) const = default;
};

inline constexpr size_t kLongestErrorFile = 256 << 10;

// Reads TonY's format {"class": "...", "advice": "transient", "message": "..."}. Each member is optional, and at
// least one must be present. Also reads the format that TorchElastic's @record writes: {"message": {"message": "...",
// "extraInfo": {...}}}. kInvalid says what is wrong.
Result<ErrorReport> ParseErrorReport(std::string_view json);

// Returns the class of a failure that users may name in rules and reports. Classes that only TonY can know (success,
// killed, abandoned) give nullopt.
std::optional<OutcomeClass> UserClassFromString(std::string_view text);
inline constexpr std::string_view kUserClasses =
    "user_error, user_config, oom, node_lost, preempted, infra, hung or timeout";

}  // namespace tony
