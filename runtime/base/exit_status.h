// How a process ended, kept whole until a person reads it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tony {

struct ExitStatus {
  enum class Kind { kExited, kSignaled };
  Kind kind = Kind::kExited;
  int value = 0;  // the exit code, or the signal's number

  bool Succeeded() const { return kind == Kind::kExited && value == 0; }
  bool operator==(const ExitStatus&) const = default;
};

ExitStatus FromWaitStatus(int status);           // waitpid()'s
std::string ToString(const ExitStatus& status);  // "exit code 3", "signal 9 (SIGKILL)"

std::string SignalName(int signal);                          // "SIGKILL"; empty: it has none
std::optional<int> SignalFromString(std::string_view text);  // "9", "SIGKILL", "KILL"; nothing: no such signal

}  // namespace tony
