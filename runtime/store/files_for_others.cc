#include "runtime/store/files_for_others.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "runtime/base/strings.h"
#include "runtime/store/files.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

class LocalFiles : public FilesForOthers {
 public:
  Status MakeFolder(const std::string& text) const override;
  Status Write(const std::string& text, std::string_view content) const override;
  Status Remove(const std::string& path) const override {
    if (unlink(path.c_str()) == 0 || errno == ENOENT) return Ok();
    return FileError(ErrorCode::kCannotWrite, "remove", path, errno);
  }
};

// Not by the name of what it will be: TonY's readers take each name with "jhist" in it for a history.
Status LocalFiles::Write(const std::string& text, std::string_view content) const {
  const fs::path path = text;
  const fs::path temporary = path.parent_path() / StrCat(".new-", RandomHex(6));
  Status written = WriteNewFile(temporary, content, /*durable=*/false);
  if (written.ok() && (chmod(temporary.c_str(), kFileForOthers) != 0 || rename(temporary.c_str(), path.c_str()) != 0))
    written = FileError(ErrorCode::kCannotWrite, "make", path, errno);
  if (!written.ok()) unlink(temporary.c_str());
  return written;
}

Status LocalFiles::MakeFolder(const std::string& text) const {
  const fs::path path = text;
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) return FileError(ErrorCode::kCannotWrite, "make", path.parent_path(), error.value());
  if (mkdir(path.c_str(), kFolderForOthers) != 0) {
    return errno == EEXIST ? Ok() : FileError(ErrorCode::kCannotWrite, "make", path, errno);
  }
  struct stat made = {};  // set-group-id comes from the folder above, and the umask has taken from the mode
  if (stat(path.c_str(), &made) != 0 || chmod(path.c_str(), (made.st_mode & S_ISGID) | kFolderForOthers) != 0)
    return FileError(ErrorCode::kCannotWrite, "open", path, errno);
  return Ok();
}

}  // namespace

const FilesForOthers& FilesOnThisMachine() {
  static const LocalFiles files;
  return files;
}

}  // namespace tony
