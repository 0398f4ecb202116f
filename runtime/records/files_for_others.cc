#include "runtime/records/files_for_others.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/os/files.h"
#include "runtime/records/user_home.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

class LocalFiles : public FilesForOthers {
 public:
  Status MakeFolder(const std::string& text) const override;
  Status Write(const std::string& text, std::string_view content) const override;
  Status Remove(const std::string& text) const override;
};

struct Folder {
  UniqueFd fd;
  uid_t owner = 0;
};

Error Refusal(const fs::path& path, std::string_view what, uid_t owner) {
  return {ErrorCode::kNotPermitted,
          StrCat(path.string(), what, UserText(owner), ", expected a folder of ", UserText(geteuid()),
                 ": nothing is written there; ", UserText(owner), owner == 0 ? "" : " or root", " must remove it")};
}

// Links are not followed, because everybody may have made one in a folder that users share.
Result<Folder> OpenFolder(const fs::path& path) {
  UniqueFd fd(open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat info = {};
  if (!fd.valid() || fstat(fd.get(), &info) != 0) return FileError(ErrorCode::kCannotWrite, "open", path, errno);
  if (!S_ISDIR(info.st_mode)) {
    return Refusal(path, S_ISLNK(info.st_mode) ? " is a link of " : " is a file of ", info.st_uid);
  }
  return Folder{std::move(fd), info.st_uid};
}

// The owner of the new file is compared, and not this process's user, because network file systems map users.
Status WriteInto(const Folder& folder, const std::string& temporary, const fs::path& path, std::string_view content) {
  const UniqueFd fd(
      openat(folder.fd.get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  struct stat made = {};
  if (!fd.valid() && errno == EACCES && folder.owner != geteuid())
    return Refusal(path.parent_path(), " belongs to ", folder.owner);
  if (!fd.valid() || fstat(fd.get(), &made) != 0) return FileError(ErrorCode::kCannotWrite, "make", path, errno);
  if (made.st_uid != folder.owner) return Refusal(path.parent_path(), " belongs to ", folder.owner);
  TRY(WriteAll(fd.get(), content, path));
  if (fchmod(fd.get(), kFileForOthers) == 0 &&
      renameat(folder.fd.get(), temporary.c_str(), folder.fd.get(), path.filename().c_str()) == 0)
    return Ok();
  return FileError(ErrorCode::kCannotWrite, "make", path, errno);
}

// The temporary name has nothing of the file's name, because TonY's readers take each name with "jhist" in it for a
// history.
Status LocalFiles::Write(const std::string& text, std::string_view content) const {
  const fs::path path = text;
  TRY_ASSIGN(const Folder folder, OpenFolder(path.parent_path()));
  const std::string temporary = StrCat(".new-", RandomHex(6));
  const Status written = WriteInto(folder, temporary, path, content);
  if (!written.ok()) unlinkat(folder.fd.get(), temporary.c_str(), 0);
  return written;
}

Status LocalFiles::Remove(const std::string& text) const {
  const fs::path path = text;
  TRY_ASSIGN(const Folder folder, OpenFolder(path.parent_path()));
  if (unlinkat(folder.fd.get(), path.filename().c_str(), 0) == 0 || errno == ENOENT) return Ok();
  return FileError(ErrorCode::kCannotWrite, "remove", path, errno);
}

// Write() looks at a folder that was there before.
Status LocalFiles::MakeFolder(const std::string& text) const {
  const fs::path path = text;
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) return FileError(ErrorCode::kCannotWrite, "make", path.parent_path(), error.value());
  if (mkdir(path.c_str(), kFolderForOthers) != 0) {
    return errno == EEXIST ? Ok() : FileError(ErrorCode::kCannotWrite, "make", path, errno);
  }
  // The set-group-id bit comes from the folder above, and the umask has taken from the mode.
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat made = {};
  if (!fd.valid() || fstat(fd.get(), &made) != 0 || fchmod(fd.get(), (made.st_mode & S_ISGID) | kFolderForOthers) != 0)
    return FileError(ErrorCode::kCannotWrite, "open", path, errno);
  return Ok();
}

}  // namespace

const FilesForOthers& FilesOnThisMachine() {
  static const LocalFiles files;
  return files;
}

}  // namespace tony
