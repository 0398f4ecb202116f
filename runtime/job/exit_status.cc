#include "runtime/job/exit_status.h"

#include <sys/wait.h>

#include <csignal>
#include <cstring>

#include "runtime/base/strings.h"

namespace tony {

ExitStatus FromWaitStatus(int status) {
  if (WIFSIGNALED(status)) return {ExitStatus::Kind::kSignaled, WTERMSIG(status)};
  return {ExitStatus::Kind::kExited, WEXITSTATUS(status)};
}

std::string ToString(const ExitStatus& status) {
  if (status.kind == ExitStatus::Kind::kExited) return StrCat("exit code ", status.value);
  const char* name = sigabbrev_np(status.value);
  return name ? StrCat("signal ", status.value, " (SIG", name, ")") : StrCat("signal ", status.value);
}

}  // namespace tony
