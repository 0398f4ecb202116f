#include "runtime/staging/space_guard.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>

#include "runtime/base/strings.h"
#include "runtime/os/files.h"
#include "runtime/staging/limits.h"

namespace tony {
namespace {

constexpr int64_t kGrant = 64 << 20;  // well below what is left free: others write at the same time

}  // namespace

Status SpaceGuard::Take(int64_t bytes) {
  granted_ -= bytes;
  if (granted_ >= 0) return Ok();
  struct statvfs disk {};
  if (statvfs(folder_.c_str(), &disk) != 0) return FileError(ErrorCode::kCannotWrite, "look at", folder_, errno);
  const auto block = static_cast<int64_t>(disk.f_frsize);
  const int64_t free = static_cast<int64_t>(disk.f_bavail) * block;
  const int64_t leave = std::min(kLeaveFree, static_cast<int64_t>(disk.f_blocks) * block / kLeaveFreePart);
  if (free - bytes < leave)
    return Error{ErrorCode::kCannotWrite, StrCat("write ", folder_.string(), ": its disk has ", free >> 20,
                                                 " MB free, of which ", leave >> 20, " MB are left to others")};
  granted_ = std::min(kGrant, free - bytes - leave);
  return Ok();
}

}  // namespace tony
