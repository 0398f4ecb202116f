#include "runtime/staging/unpack.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/os/files.h"
#include "runtime/staging/archive_reader.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr int kOpenFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr size_t kLongestComponent = 255;  // NAME_MAX of common file systems
// Half of PATH_MAX. The other half is left for the folder in which a task finds the file.
constexpr size_t kLongestName = 2048;
constexpr std::string_view kNotWithin = "the path does not stay within the folder";

Error RefuseName(const std::string& name, std::string_view why) {
  return {ErrorCode::kInvalid, StrCat("\"", name.substr(0, 300), "\": ", why)};
}

// Returns an error about `name` if something else has its place, otherwise an error about the disk.
Error PlaceError(const std::string& name, const fs::path& path, int error) {
  switch (error) {
    case EEXIST:
      return RefuseName(name, "an earlier folder of the archive has this name");
    case ENOTDIR:
    case ELOOP:
      return RefuseName(name, "a part of the entry's path is not a folder");
    default:
      return FileError(ErrorCode::kCannotWrite, "make", path, error);
  }
}

constexpr size_t kShownName = 300;

Error Refuse(const std::string& name, std::string_view why) {
  return {ErrorCode::kInvalid, StrCat("\"", ReplaceInvalidUtf8(name.substr(0, kShownName)), "\": ", why)};
}

// Returns the name as a path within the tree: "a/b" for "./a//b/", "" for the tree's own folder.
Result<std::string> CleanName(const std::string& name) {
  if (!IsUtf8(name)) return Refuse(name, "the name of the entry is not UTF-8");
  if (name.empty()) return Error{ErrorCode::kInvalid, "an entry of the archive has no name"};
  if (name.front() == '/') return Refuse(name, "the entry's name is an absolute path");
  std::vector<std::string> parts;
  for (std::string& part : Split(name, '/')) {
    if (part == "..") return Refuse(name, "the entry's name contains \"..\"");
    if (!part.empty() && part != ".") parts.push_back(std::move(part));
  }
  return Join(parts, "/");
}

class Unpacker {
 public:
  Unpacker(ArchiveReader& archive, TreeWriter& tree, const UnpackLimits& limits, SpaceGuard& space, StageMeter& meter)
      : archive_(archive), tree_(tree), limits_(limits), space_(space), meter_(meter) {}

  Status Run(int64_t archive_size) {
    TRY(TakeAll());
    // An archive without entries is refused, because a tar ends with zeros, so libarchive reads any file of zeros as an
    // empty tar.
    if (entries_ == 0) return Error{ErrorCode::kInvalid, "the archive is empty"};
    return meter_.Done(archive_size - told_);
  }

 private:
  Status TakeAll() {
    for (;;) {
      TRY_ASSIGN(const auto entry, archive_.Next());
      if (!entry) return Ok();
      if (++entries_ > limits_.entries)
        return Error{ErrorCode::kInvalid, StrCat("the archive has more than ", limits_.entries, " entries")};
      TRY(Take(*entry));
      TRY(Tell());
    }
  }

  Status Take(const ArchiveEntry& entry) {
    TRY_ASSIGN(const std::string name, CleanName(entry.name));
    if (entry.encrypted) return Refuse(entry.name, "the entry is encrypted");
    if (name.empty() && entry.kind == ArchiveEntry::Kind::kFolder) return Ok();
    if (name.empty())
      return Refuse(entry.name, "the entry has the name of the folder into which the archive is unpacked");
    switch (entry.kind) {
      case ArchiveEntry::Kind::kFolder:
        return tree_.MakeFolder(name, entry.modified);
      case ArchiveEntry::Kind::kFile:
        return TakeFile(entry, name);
      case ArchiveEntry::Kind::kSymlink:
        return tree_.MakeSymlink(name, entry.target, entry.modified);
      case ArchiveEntry::Kind::kHardLink: {
        TRY_ASSIGN(const std::string target, CleanName(entry.target));
        return tree_.MakeHardLink(name, target);
      }
      case ArchiveEntry::Kind::kOther:
        break;
    }
    return Refuse(entry.name, "neither a file nor a folder nor a link");
  }

  Status TakeFile(const ArchiveEntry& entry, const std::string& name) {
    TRY_ASSIGN(const UniqueFd file, tree_.MakeFile(name));
    int64_t end = 0;
    for (;;) {
      const auto data = archive_.NextData();
      if (!data.ok()) return Refuse(entry.name, data.error().message);
      if (!*data) break;
      const auto [offset, bytes] = **data;
      if (offset < end) return Refuse(entry.name, "the pieces of the entry's content overlap");
      if (offset > end) TRY(LeaveHole(file, entry, name, offset - end, offset));
      end = offset + static_cast<int64_t>(bytes.size());
      TRY(TakeData(file, entry, name, bytes));
    }
    if (entry.size > end) TRY(LeaveHole(file, entry, name, entry.size - end, entry.size));
    return tree_.FinishFile(file.get(), name, entry.executable, entry.modified);
  }

  Status TakeData(const UniqueFd& file, const ArchiveEntry& entry, const std::string& name, std::string_view bytes) {
    const auto size = static_cast<int64_t>(bytes.size());
    TRY(CheckSize(entry, size));
    written_ += size;
    const int64_t read = std::max<int64_t>(archive_.Consumed(), 1);
    if (written_ > limits_.free_of_ratio && written_ / read > limits_.ratio)
      return Refuse(entry.name, StrCat("the archive unpacks to more than ", limits_.ratio,
                                       " times its size, as only a decompression bomb does"));
    TRY(space_.Take(size));
    TRY(WriteAll(file.get(), bytes, tree_.PathOf(name)));
    TRY(meter_.Copied(size));
    return Tell();
  }

  // Writes a hole. The hole takes no space on the disk, and counts as size, because later readers of the file read it.
  Status LeaveHole(const UniqueFd& file, const ArchiveEntry& entry, const std::string& name, int64_t size,
                   int64_t end) {
    TRY(CheckSize(entry, size));
    if (ftruncate(file.get(), end) == 0 && lseek(file.get(), end, SEEK_SET) == end) return Ok();
    return FileError(ErrorCode::kCannotWrite, "write", tree_.PathOf(name), errno);
  }

  Status CheckSize(const ArchiveEntry& entry, int64_t bytes) {
    if (bytes <= limits_.bytes - unpacked_) {
      unpacked_ += bytes;
      return Ok();
    }
    return Refuse(entry.name,
                  StrCat("this entry and the entries before it unpack to more than ", limits_.bytes >> 20, " MB"));
  }

  // Reports the position in the archive. In a zip the position also moves backwards.
  Status Tell() {
    const int64_t consumed = archive_.Consumed();
    return meter_.Done(consumed - std::exchange(told_, consumed));
  }

  ArchiveReader& archive_;
  TreeWriter& tree_;
  const UnpackLimits& limits_;
  SpaceGuard& space_;
  StageMeter& meter_;
  int64_t entries_ = 0;
  int64_t unpacked_ = 0;  // bytes, holes included
  int64_t written_ = 0;   // bytes, without holes
  int64_t told_ = 0;
};

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
  if (component.size() > kLongestComponent) return RefuseName(name, "the name of the entry is too long");
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
  if (name.size() > kLongestName) return RefuseName(name, "the path of the entry is too long");
  const size_t slash = name.rfind('/');
  // Without a slash, npos + 1 is 0, and `leaf` is the whole name.
  const std::string leaf = name.substr(slash + 1);
  if (leaf.empty() || leaf == "." || leaf == "..") return RefuseName(name, kNotWithin);
  if (leaf.size() > kLongestComponent) return RefuseName(name, "the name of the entry is too long");
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
  // A failure is ignored here, because Step() reports it.
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
    if (errno == ENOENT || errno == ENAMETOOLONG)
      return RefuseName(name, "the target of the link is empty or too long");
    return PlaceError(name, PathOf(name), errno);
  }
  const timespec times[2] = {modified, modified};
  // A failure is ignored, because no program reads the time of a link.
  utimensat(place.parent, place.leaf.c_str(), times, AT_SYMLINK_NOFOLLOW);
  return Ok();
}

Status TreeWriter::MakeHardLink(const std::string& name, const std::string& existing) {
  TRY_ASSIGN(const Place old, Find(existing));
  const UniqueFd parent(fcntl(old.parent, F_DUPFD_CLOEXEC, 0));  // Find() may close the borrowed descriptor
  const std::string leaf = old.leaf;
  struct stat info {};
  if (fstatat(parent.get(), leaf.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode))
    return RefuseName(
        name, StrCat("a hard link to \"", existing.substr(0, 300), "\", which is not an earlier file of the archive"));
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

Status Unpack(int fd, TreeWriter& tree, const UnpackLimits& limits, SpaceGuard& space, StageMeter& meter) {
  TRY_ASSIGN(const auto archive, ArchiveReader::Open(fd));
  struct stat info {};
  if (fstat(fd, &info) != 0) return Error{ErrorCode::kInvalid, ErrnoText(errno)};
  return Unpacker(*archive, tree, limits, space, meter).Run(info.st_size);
}

}  // namespace tony
