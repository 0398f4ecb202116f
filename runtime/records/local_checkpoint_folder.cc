#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/os/files.h"
#include "runtime/records/checkpoint_folder.h"

namespace tony {
namespace {

using Directory = std::unique_ptr<DIR, int (*)(DIR*)>;

Directory ToDirectory(UniqueFd fd) {
  Directory directory(fd.valid() ? fdopendir(fd.get()) : nullptr, closedir);
  if (directory) fd.Release();
  return directory;
}

int64_t NanosOf(const timespec& time) { return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

// Nobody can go on from what may not be read (lost+found).
Status AddContentAt(int parent, const std::string& name, ListedCheckpoint& sum, FolderContent& content, size_t& left) {
  const Directory folder =
      ToDirectory(UniqueFd(openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)));
  if (!folder && (errno == ENOENT || errno == EACCES)) return Ok();
  if (!folder) return FileError(ErrorCode::kUnavailable, "open", name, errno);
  for (errno = 0; const dirent* entry = readdir(folder.get()); errno = 0) {
    const std::string_view inside = entry->d_name;
    if (inside == "." || inside == "..") continue;
    struct stat found {};
    if (fstatat(dirfd(folder.get()), entry->d_name, &found, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (left-- == 0) return TooManyIn(kMostLookedAt, "files");
    sum.modified_ns = std::max(sum.modified_ns, NanosOf(found.st_mtim));
    if (S_ISREG(found.st_mode)) sum.bytes += found.st_size;
    if (S_ISREG(found.st_mode)) content.Add(inside, NanosOf(found.st_mtim));
    if (S_ISDIR(found.st_mode)) TRY(AddContentAt(dirfd(folder.get()), entry->d_name, sum, content, left));
  }
  return errno == 0 ? Ok() : FileError(ErrorCode::kUnavailable, "read", name, errno);
}

class LocalSight : public CheckpointSight {
 public:
  LocalSight(std::string path, Directory directory) : path_(std::move(path)), directory_(std::move(directory)) {}

  Result<std::vector<std::string>> Names() override {
    std::vector<std::string> names;
    for (;;) {
      errno = 0;
      const dirent* entry = readdir(directory_.get());
      if (!entry && errno != 0) return FileError(ErrorCode::kUnavailable, "read", path_, errno);
      if (!entry) return names;
      const bool may_be = entry->d_type == DT_REG || entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN;
      if (may_be) names.emplace_back(entry->d_name);
    }
  }

  std::optional<SeenCheckpoint> At(const std::string& name) override {
    struct stat found {};
    if (fstatat(dirfd(directory_.get()), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
    const bool is_file = S_ISREG(found.st_mode);
    if (!is_file && !S_ISDIR(found.st_mode)) return std::nullopt;
    return SeenCheckpoint{
        {name, static_cast<int64_t>(found.st_ino), is_file ? found.st_size : 0, NanosOf(found.st_mtim)}, !is_file};
  }

  Status AddContent(ListedCheckpoint& folder, FolderContent& content, size_t& left) override {
    return AddContentAt(dirfd(directory_.get()), folder.name, folder, content, left);
  }

 private:
  const std::string path_;
  const Directory directory_;
};

}  // namespace

Result<std::string> LocalCheckpointFolder::Resolve() const {
  std::error_code error;
  const auto folder = std::filesystem::weakly_canonical(path_, error);
  if (error) return FileError(ErrorCode::kUnavailable, "open", path_, error.value());
  return folder.string();
}

Result<std::unique_ptr<CheckpointSight>> LocalCheckpointFolder::Look() const {
  Directory directory = ToDirectory(UniqueFd(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  if (!directory && errno != ENOENT) {
    const auto code = errno == EACCES ? ErrorCode::kNotPermitted : ErrorCode::kUnavailable;
    return FileError(code, "open", path_, errno);
  }
  if (!directory) return std::unique_ptr<CheckpointSight>();
  return std::unique_ptr<CheckpointSight>(std::make_unique<LocalSight>(path_, std::move(directory)));
}

}  // namespace tony
