#include "runtime/base/exit_status.h"

#include <sys/wait.h>

#include <cstring>

#include "runtime/base/strings.h"

namespace tony {

ExitStatus FromWaitStatus(int status) {
  if (WIFSIGNALED(status)) return {ExitStatus::Kind::kSignaled, WTERMSIG(status)};
  return {ExitStatus::Kind::kExited, WEXITSTATUS(status)};
}

std::string ToString(const ExitStatus& status) {
  if (status.kind == ExitStatus::Kind::kExited) return StrCat("exit code ", status.value);
  const std::string name = SignalName(status.value);
  return name.empty() ? StrCat("signal ", status.value) : StrCat("signal ", status.value, " (", name, ")");
}

std::string SignalName(int signal) {
  const char* name = sigabbrev_np(signal);
  return name ? StrCat("SIG", name) : "";
}

std::optional<int> SignalFromString(std::string_view text) {
  constexpr int kLast = 64;  // SIGRTMAX, which is not a constant
  for (int signal = 1; signal <= kLast; ++signal) {
    const std::string name = SignalName(signal);
    if (text == std::to_string(signal) || (!name.empty() && (text == name || text == name.substr(3)))) return signal;
  }
  return std::nullopt;
}

}  // namespace tony
