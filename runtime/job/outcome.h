// Why an attempt ended, and why the job ended.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/job/exit_status.h"
#include "runtime/job/ids.h"

namespace tony {

// The contract's outcome classes. Names in JSON and on the wire are those of ToString().
enum class OutcomeClass {
  kSuccess,
  kUserError,
  kUserConfig,
  kOom,
  kNodeLost,
  kPreempted,
  kInfra,
  kHung,
  kTimeout,
  kKilled,
  kAbandoned,
};
std::string_view ToString(OutcomeClass c);  // "success", "user_error", ...
std::optional<OutcomeClass> OutcomeClassFromString(std::string_view text);
bool IsRetryable(OutcomeClass c);  // whether a workflow engine may sensibly submit the job again

struct Outcome {
  OutcomeClass cls = OutcomeClass::kSuccess;
  std::optional<ExitStatus> exit;  // absent if no process ran, or nobody saw it end
  std::string message;             // what a person should know beside the exit status; may be empty
  std::string stderr_tail;         // the last lines of the attempt's stderr, when it failed
  bool Succeeded() const { return cls == OutcomeClass::kSuccess; }
  bool operator==(const Outcome&) const = default;
};

// From the end of the user's own process, which nobody asked to stop. 126 and 127 are the shell's "may not be run"
// and "not found": user_config; anything else but 0: user_error.
OutcomeClass ClassOf(const ExitStatus& exit);

enum class FinalState { kSucceeded, kFailed, kKilled };
std::string_view ToString(FinalState state);  // "SUCCEEDED", "FAILED", "KILLED"
std::optional<FinalState> FinalStateFromString(std::string_view text);

struct Verdict {
  FinalState state = FinalState::kSucceeded;
  OutcomeClass cls = OutcomeClass::kSuccess;
  std::string message;               // the first cause in one line
  std::optional<AttemptId> attempt;  // whose failure came first
  std::string host;                  // where it ran
  std::optional<ExitStatus> exit;
  std::string stderr_tail;
  bool operator==(const Verdict&) const = default;
};

}  // namespace tony
