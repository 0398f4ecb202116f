#include "runtime/store/copy_tree.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "runtime/base/strings.h"
#include "runtime/store/files.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

Status CopyFile(const fs::path& from, const fs::path& to) {
  // A pipe put in the file's place since it was looked at must not hang us.
  const UniqueFd in(open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat source;
  if (!in.valid() || fstat(in.get(), &source) != 0) return FileError(ErrorCode::kInvalid, "read", from, errno);
  const UniqueFd out(open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!out.valid() || fchmod(out.get(), source.st_mode & S_IXUSR ? 0700 : 0600) != 0)
    return FileError(ErrorCode::kCannotWrite, "make", to, errno);
  constexpr size_t kChunk = 1 << 30;  // the kernel moves at most 2 GiB a call
  for (;;) {
    const ssize_t size = sendfile(out.get(), in.get(), nullptr, kChunk);
    if (size == 0) return Ok();
    if (size < 0 && errno != EINTR)
      return FileError(ErrorCode::kCannotWrite, "copy " + from.string() + " to", to, errno);
  }
}

Status CopyLink(const fs::path& from, const fs::path& to) {
  std::error_code error;
  const fs::path target = fs::read_symlink(from, error);
  if (error) return FileError(ErrorCode::kInvalid, "read", from, error.value());
  fs::create_symlink(target, to, error);
  if (error) return FileError(ErrorCode::kCannotWrite, "make", to, error.value());
  return Ok();
}

Status CopyEntry(const fs::directory_entry& entry, const fs::path& to, const fs::path& without) {
  std::error_code error;
  const fs::file_status status = entry.symlink_status(error);
  if (error) return FileError(ErrorCode::kInvalid, "read", entry.path(), error.value());
  switch (status.type()) {
    case fs::file_type::regular:
      return CopyFile(entry.path(), to);
    case fs::file_type::symlink:
      return CopyLink(entry.path(), to);
    case fs::file_type::directory:
      if (fs::equivalent(entry.path(), without, error)) return Ok();
      return CopyTree(entry.path(), to, without);
    case fs::file_type::none:
    case fs::file_type::not_found:
    case fs::file_type::block:
    case fs::file_type::character:
    case fs::file_type::fifo:
    case fs::file_type::socket:
    case fs::file_type::unknown:
      break;
  }
  return Error{ErrorCode::kInvalid,
               StrCat("copy ", entry.path().string(), ": neither a file nor a folder nor a symbolic link")};
}

}  // namespace

Status CopyTree(const fs::path& from, const fs::path& to, const fs::path& without) {
  std::error_code error;
  fs::directory_iterator entry(from, error);
  if (error) return FileError(ErrorCode::kInvalid, "read", from, error.value());
  TRY(MakeFolder(to));
  while (entry != fs::directory_iterator()) {
    TRY(CopyEntry(*entry, to / entry->path().filename(), without));
    entry.increment(error);
    if (error) return FileError(ErrorCode::kInvalid, "read", from, error.value());
  }
  return Ok();
}

}  // namespace tony
