#include "runtime/staging/tree_writer.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "runtime/base/strings.h"
#include "runtime/os/files.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr int kOpenFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr size_t kLongestComponent = 255;  // NAME_MAX of every file system that matters
constexpr size_t kLongestName = 2048;      // leaves as much of PATH_MAX to the folder that a task sees it in
constexpr std::string_view kNotWithin = "not a path within the folder";

Error RefuseName(const std::string& name, std::string_view why) {
  return {ErrorCode::kInvalid, StrCat("\"", name.substr(0, 300), "\": ", why)};
}

// `name` is at fault where something else stands in its way; else the disk is.
Error PlaceError(const std::string& name, const fs::path& path, int error) {
  switch (error) {
    case EEXIST:
      return RefuseName(name, "a folder of that name is there before it");
    case ENOTDIR:
    case ELOOP:
      return RefuseName(name, "its way leads through something that is not a folder");
    default:
      return FileError(ErrorCode::kCannotWrite, "make", path, error);
  }
}

}  // namespace

template <class Maker>
bool TreeWriter::Place::Put(Maker make) const {
  if (make()) return true;
  if (errno != EEXIST) return false;
  if (unlinkat(parent, leaf.c_str(), 0) == 0) return make();
  errno = EEXIST;
  return false;
}

Result<TreeWriter> TreeWriter::Make(const fs::path& folder) {
  if (mkdir(folder.c_str(), 0700) != 0) return FileError(ErrorCode::kCannotWrite, "make", folder, errno);
  UniqueFd root(open(folder.c_str(), kOpenFolder));
  if (!root.valid() || fchmod(root.get(), 0700) != 0) return FileError(ErrorCode::kCannotWrite, "open", folder, errno);
  return TreeWriter(folder, std::move(root));
}

Result<UniqueFd> TreeWriter::Step(int parent, const std::string& folder, const std::string& name) {
  const std::string component = folder.substr(folder.rfind('/') + 1);
  if (component.size() > kLongestComponent) return RefuseName(name, "its name is too long");
  if (component.empty() || component == "." || component == "..") return RefuseName(name, kNotWithin);
  if (mkdirat(parent, component.c_str(), 0700) == 0) {
    folders_.push_back(folder);
  } else if (errno != EEXIST) {
    return PlaceError(name, PathOf(name), errno);
  }
  UniqueFd fd(openat(parent, component.c_str(), kOpenFolder));
  if (!fd.valid()) return PlaceError(name, PathOf(name), errno);
  return fd;
}

Result<UniqueFd> TreeWriter::Walk(const std::string& folder, const std::string& name) {
  UniqueFd at(fcntl(root_.get(), F_DUPFD_CLOEXEC, 0));
  if (!at.valid()) return FileError(ErrorCode::kCannotWrite, "open", folder_, errno);
  std::string walked;
  for (const std::string& component : Split(folder, '/')) {
    walked += walked.empty() ? component : "/" + component;
    TRY_ASSIGN(at, Step(at.get(), walked, name));
  }
  return at;
}

Result<TreeWriter::Place> TreeWriter::Find(const std::string& name) {
  if (name.size() > kLongestName) return RefuseName(name, "its path is too long");
  const size_t slash = name.rfind('/');
  const std::string leaf = name.substr(slash + 1);  // npos + 1 is 0
  if (leaf.empty() || leaf == "." || leaf == "..") return RefuseName(name, kNotWithin);
  if (leaf.size() > kLongestComponent) return RefuseName(name, "its name is too long");
  if (slash == std::string::npos) return Place{root_.get(), leaf};
  const std::string folder = name.substr(0, slash);
  if (folder != last_folder_) {
    TRY_ASSIGN(last_, Walk(folder, name));
    last_folder_ = folder;
  }
  return Place{last_.get(), leaf};
}

Status TreeWriter::MakeFolder(const std::string& name, const timespec& modified) {
  TRY_ASSIGN(const Place place, Find(name));
  struct stat before {};
  // A failure is Step()'s to tell.
  if (fstatat(place.parent, place.leaf.c_str(), &before, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(before.st_mode))
    unlinkat(place.parent, place.leaf.c_str(), 0);
  TRY_ASSIGN(const UniqueFd made, Step(place.parent, name, name));
  stamps_.emplace_back(name, modified);
  return Ok();
}

Result<UniqueFd> TreeWriter::MakeFile(const std::string& name) {
  TRY_ASSIGN(const Place place, Find(name));
  UniqueFd fd;
  const auto make = [&] {
    fd = UniqueFd(openat(place.parent, place.leaf.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    return fd.valid();
  };
  if (!place.Put(make)) return PlaceError(name, PathOf(name), errno);
  return fd;
}

Status TreeWriter::FinishFile(int fd, const std::string& name, bool executable, const timespec& modified) {
  const timespec times[2] = {modified, modified};
  if (futimens(fd, times) == 0 && fchmod(fd, executable ? 0555 : 0444) == 0) return Ok();
  return FileError(ErrorCode::kCannotWrite, "finish", PathOf(name), errno);
}

Status TreeWriter::MakeSymlink(const std::string& name, const std::string& target, const timespec& modified) {
  TRY_ASSIGN(const Place place, Find(name));
  if (!place.Put([&] { return symlinkat(target.c_str(), place.parent, place.leaf.c_str()) == 0; })) {
    if (errno == ENOENT || errno == ENAMETOOLONG) return RefuseName(name, "a link that leads nowhere");
    return PlaceError(name, PathOf(name), errno);
  }
  const timespec times[2] = {modified, modified};
  utimensat(place.parent, place.leaf.c_str(), times, AT_SYMLINK_NOFOLLOW);  // no reader ever asks for it
  return Ok();
}

Status TreeWriter::MakeHardLink(const std::string& name, const std::string& existing) {
  TRY_ASSIGN(const Place old, Find(existing));
  const UniqueFd parent(fcntl(old.parent, F_DUPFD_CLOEXEC, 0));  // Find() may replace what it lent
  const std::string leaf = old.leaf;
  struct stat info {};
  if (fstatat(parent.get(), leaf.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode))
    return RefuseName(name, StrCat("a hard link to \"", existing.substr(0, 300), "\", which is no file before it"));
  if (name == existing) return Ok();
  TRY_ASSIGN(const Place place, Find(name));
  if (place.Put([&] { return linkat(parent.get(), leaf.c_str(), place.parent, place.leaf.c_str(), 0) == 0; }))
    return Ok();
  return PlaceError(name, PathOf(name), errno);
}

Status TreeWriter::Seal() {
  last_.Reset();
  last_folder_.clear();
  for (const auto& [name, modified] : stamps_) {
    const timespec times[2] = {modified, modified};
    if (utimensat(root_.get(), name.c_str(), times, AT_SYMLINK_NOFOLLOW) != 0)
      return FileError(ErrorCode::kCannotWrite, "finish", PathOf(name), errno);
  }
  for (auto name = folders_.rbegin(); name != folders_.rend(); ++name) {
    if (fchmodat(root_.get(), name->c_str(), 0555, 0) != 0)
      return FileError(ErrorCode::kCannotWrite, "finish", PathOf(*name), errno);
  }
  return fchmod(root_.get(), 0555) == 0 ? Ok() : FileError(ErrorCode::kCannotWrite, "finish", folder_, errno);
}

}  // namespace tony
