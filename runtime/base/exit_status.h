// How a process ended. The complete status is kept until it is shown to a person.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tony {

struct ExitStatus {
  enum class Kind { kExited, kSignaled };
  Kind kind = Kind::kExited;
  int value = 0;  // exit code, or number of signal

  bool Succeeded() const { return kind == Kind::kExited && value == 0; }
  bool operator==(const ExitStatus&) const = default;
};

ExitStatus FromWaitStatus(int status);           // `status` is from waitpid()
std::string ToString(const ExitStatus& status);  // "exit code 3", "signal 9 (SIGKILL)"

std::string SignalName(int signal);                          // e.g. "SIGKILL"; empty: unknown
std::optional<int> SignalFromString(std::string_view text);  // "9", "SIGKILL", "KILL"; nullopt: unknown

}  // namespace tony
