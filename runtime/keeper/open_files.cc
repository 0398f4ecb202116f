#include "runtime/keeper/open_files.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"

namespace tony::keeper {
namespace {

// Far above what the largest job needs, and far below the billion that some machines allow and some programs walk.
constexpr rlim_t kEnough = 65536;

}  // namespace

void RaiseOpenFiles() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted = std::min(limit.rlim_max, kEnough);
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = wanted;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) LogWarn(StrCat("raise the limit of open files: ", ErrnoText(errno)));
}

void LimitOpenFiles(pid_t process, int64_t soft) {
  rlimit limit{};
  if (prlimit(process, RLIMIT_NOFILE, nullptr, &limit) != 0) return;  // it has ended
  limit.rlim_cur = std::min(static_cast<rlim_t>(soft), limit.rlim_max);
  prlimit(process, RLIMIT_NOFILE, &limit, nullptr);
}

}  // namespace tony::keeper
