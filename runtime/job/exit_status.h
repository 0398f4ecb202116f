// How a process ended, kept whole until a person reads it.
#pragma once

#include <string>

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

}  // namespace tony
