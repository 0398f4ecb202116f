#include "azkaban-plugin/install_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "azkaban-plugin/plugin_folder.h"
#include "runtime/base/strings.h"
#include "runtime/os/copy_file.h"
#include "runtime/os/files.h"
#include "runtime/os/remove_tree.h"

namespace tony::azkaban {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kFolderMode = 0755;
constexpr mode_t kTextMode = 0644;
constexpr mode_t kProgramMode = 0755;

Error CannotWrite(std::string_view what, const fs::path& path) {
  return FileError(ErrorCode::kCannotWrite, what, path, errno);
}

Status MakeReadableFolder(const fs::path& path) {
  if (mkdir(path.c_str(), 0700) != 0 || chmod(path.c_str(), kFolderMode) != 0) return CannotWrite("make", path);
  return Ok();
}

Status WriteText(const fs::path& path, std::string_view text) {
  TRY(WriteNewFile(path, text, false));
  if (chmod(path.c_str(), kTextMode) != 0) return CannotWrite("change the mode of", path);
  return SyncPath(path);
}

Status CopyProgram(const fs::path& from, const fs::path& to) {
  const UniqueFd in(open(from.c_str(), O_RDONLY | O_CLOEXEC));
  if (!in.valid()) return FileError(ErrorCode::kNotFound, "open", from, errno);
  const UniqueFd out(open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!out.valid()) return CannotWrite("make", to);
  TRY(CopyContent(in.get(), from, out.get(), to, [](int64_t) { return Ok(); }));
  if (fchmod(out.get(), kProgramMode) != 0 || fsync(out.get()) != 0) return CannotWrite("write", to);
  return Ok();
}

Status CarryOver(const fs::path& old, const fs::path& folder) {
  const std::vector<std::string> names = FurtherFiles(old);
  for (const std::string& name : names) {
    std::error_code error;
    fs::copy(old / name, folder / name, fs::copy_options::recursive | fs::copy_options::copy_symlinks, error);
    if (error) return FileError(ErrorCode::kCannotWrite, "copy", old / name, error.value());
  }
  if (names.empty()) return Ok();
  const UniqueFd fd(open(folder.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid() || syncfs(fd.get()) != 0) return CannotWrite("sync", folder);
  return Ok();
}

bool HasMode(const fs::path& path, mode_t mode) {
  struct stat status = {};
  return stat(path.c_str(), &status) == 0 && (status.st_mode & 07777) == mode;
}

bool IsText(const fs::path& path, const std::string& text) {
  const auto now = ReadFile(path);
  return now.ok() && *now == text && HasMode(path, kTextMode);
}

bool IsCopy(const fs::path& program, const fs::path& copy) {
  return HasMode(copy, kProgramMode) && IsSameProgram(program, copy);
}

std::vector<fs::path> Entries(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    entries.push_back(entry->path());
  std::ranges::sort(entries);
  return entries;
}

}  // namespace

std::vector<std::string> FurtherFiles(const fs::path& old) {
  std::vector<std::string> names;
  if (old.empty()) return names;
  for (const fs::path& entry : Entries(old)) {
    const std::string name = entry.filename().string();
    if (name != kPrivateFile && name != kPluginFile && name != kProgramsFolder) names.push_back(name);
  }
  return names;
}

bool IsSameProgram(const fs::path& one, const fs::path& other) {
  std::error_code error;
  if (fs::equivalent(one, other, error)) return true;
  if (fs::file_size(one, error) != fs::file_size(other, error)) return false;
  const auto first = ReadFile(one), second = ReadFile(other);
  return first.ok() && second.ok() && *first == *second;
}

bool IsBuilt(const fs::path& folder, const PluginContent& content) {
  const fs::path bin = folder / kProgramsFolder;
  if (!HasMode(folder, kFolderMode) || !IsText(folder / kPrivateFile, content.private_text) ||
      !IsText(folder / kPluginFile, content.plugin_text) || Entries(bin).size() != content.programs.size())
    return false;
  return (content.programs.empty() || HasMode(bin, kFolderMode)) &&
         std::ranges::all_of(content.programs, [&](const fs::path& p) { return IsCopy(p, bin / p.filename()); });
}

Status BuildPlugin(const fs::path& folder, const PluginContent& content) {
  TRY(MakeReadableFolder(folder));
  TRY(CarryOver(content.old, folder));
  if (!content.programs.empty()) {
    const fs::path bin = folder / kProgramsFolder;
    TRY(MakeReadableFolder(bin));
    for (const fs::path& program : content.programs) TRY(CopyProgram(program, bin / program.filename()));
    TRY(SyncPath(bin));
  }
  TRY(WriteText(folder / kPluginFile, content.plugin_text));
  TRY(WriteText(folder / kPrivateFile, content.private_text));
  return SyncPath(folder);
}

Result<UniqueFd> LockBeside(const fs::path& jobtypes) {
  const fs::path parent = jobtypes.parent_path();
  UniqueFd fd(open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return FileError(ErrorCode::kNotPermitted, "open", parent, errno);
  // A file system without locks for folders is no obstacle: two installations at once are rare, and renames stay whole.
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return Error{ErrorCode::kUnavailable, StrCat(parent.string(), ": another installation is at work there")};
  return fd;
}

Result<WorkFolder> WorkFolder::Make(const fs::path& jobtypes) {
  const fs::path parent = jobtypes.parent_path();
  struct stat inner = {}, outer = {};
  if (stat(jobtypes.c_str(), &inner) != 0 || stat(parent.c_str(), &outer) != 0) return CannotWrite("read", jobtypes);
  if (inner.st_dev != outer.st_dev)
    return Error{ErrorCode::kCannotWrite,
                 StrCat(jobtypes.string(), ": a file system of its own; the job type is made in ", parent.string(),
                        " and renamed into it, which needs one file system for both")};
  fs::path path = parent / StrCat(kWorkPrefix, RandomHex(6));
  if (mkdir(path.c_str(), 0700) != 0) {
    Error error = CannotWrite("make", path);
    error.message += StrCat("; the job type is made in ", parent.string(), " and renamed into ", jobtypes.string(),
                            ", so both must be writable");
    return error;
  }
  return WorkFolder(std::move(path));
}

WorkFolder::~WorkFolder() {
  if (!path_.empty()) (void)RemoveTree(path_).ok();  // the next installation removes it
}

std::vector<fs::path> Leftovers(const fs::path& jobtypes) {
  std::vector<fs::path> found = Entries(jobtypes.parent_path());
  std::erase_if(found, [](const fs::path& path) { return !path.filename().string().starts_with(kWorkPrefix); });
  return found;
}

Status PutInPlace(const fs::path& made, const fs::path& place) {
  std::error_code error;
  const bool there = fs::symlink_status(place, error).type() != fs::file_type::not_found;
  if (!there && rename(made.c_str(), place.c_str()) != 0) return CannotWrite("make", place);
  if (there && renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, place.c_str(), RENAME_EXCHANGE) != 0) {
    const int error_number = errno;
    Error failed = FileError(ErrorCode::kCannotWrite, "replace", place, error_number);
    if (error_number == EINVAL || error_number == ENOSYS || error_number == EOPNOTSUPP || error_number == EXDEV)
      failed.message = StrCat("replace ", place.string(),
                              ": this file system cannot exchange two folders in one step; stop the executor server, "
                              "move the old one out of the folder of job types and install again");
    return failed;
  }
  return SyncPath(place.parent_path());
}

fs::path FreeAside(const fs::path& jobtypes, std::string_view name) {
  for (int number = 1;; ++number) {
    fs::path aside = jobtypes.parent_path() / StrCat(name, ".replaced-", number);
    std::error_code error;
    if (fs::symlink_status(aside, error).type() == fs::file_type::not_found) return aside;
  }
}

}  // namespace tony::azkaban
