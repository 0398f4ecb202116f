#include "runtime/os/copy_file.h"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "runtime/base/strings.h"
#include "runtime/os/files.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

// Large enough that calls cost nothing, small enough that whoever watches the copying is called every few milliseconds.
constexpr size_t kStep = 8 << 20;
constexpr size_t kBuffer = 1 << 18;

// What copy_file_range says where these two files, or this kernel, cannot have it.
bool IsNotSupported(int error) {
  return error == EXDEV || error == EINVAL || error == ENOSYS || error == EOPNOTSUPP || error == EPERM ||
         error == EBADF || error == ETXTBSY;
}

Status CopyByHand(int from, const fs::path& from_path, int to, const fs::path& to_path, const OnCopied& on_copied) {
  const auto buffer = std::make_unique<char[]>(kBuffer);
  for (;;) {
    const ssize_t size = read(from, buffer.get(), kBuffer);
    if (size == 0) return Ok();
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return FileError(ErrorCode::kInvalid, "read", from_path, errno);
    TRY(WriteAll(to, {buffer.get(), static_cast<size_t>(size)}, to_path));
    TRY(on_copied(size));
  }
}

}  // namespace

Status CopyContent(int from, const fs::path& from_path, int to, const fs::path& to_path, const OnCopied& on_copied) {
  if (ioctl(to, FICLONE, from) == 0) {
    struct stat info {};
    return fstat(to, &info) == 0 ? on_copied(info.st_size) : Ok();
  }
  for (bool any = false;; any = true) {
    const ssize_t size = copy_file_range(from, nullptr, to, nullptr, kStep, 0);
    // Nothing at once may be an empty file, or one of a file system that knows no sizes, as /proc: the hand tells.
    if (size == 0 && any) return Ok();
    if (size == 0 || (size < 0 && IsNotSupported(errno))) return CopyByHand(from, from_path, to, to_path, on_copied);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EIO) return FileError(ErrorCode::kInvalid, "read", from_path, errno);
    if (size < 0) return FileError(ErrorCode::kCannotWrite, "write", to_path, errno);
    TRY(on_copied(size));
  }
}

}  // namespace tony
