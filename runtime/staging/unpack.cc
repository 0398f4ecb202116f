#include "runtime/staging/unpack.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/base/utf8.h"
#include "runtime/os/files.h"
#include "runtime/staging/archive_reader.h"

namespace tony {
namespace {

constexpr size_t kShownName = 300;

Error Refuse(const std::string& name, std::string_view why) {
  return {ErrorCode::kInvalid, StrCat("\"", ReplaceInvalidUtf8(name.substr(0, kShownName)), "\": ", why)};
}

// The name as a path within the tree: "./a//b/" is "a/b"; "" is the tree's own folder.
Result<std::string> CleanName(const std::string& name) {
  if (!IsUtf8(name)) return Refuse(name, "its name is not UTF-8");
  if (name.empty()) return Error{ErrorCode::kInvalid, "an entry without a name"};
  if (name.front() == '/') return Refuse(name, "an absolute name");
  std::vector<std::string> parts;
  for (std::string& part : Split(name, '/')) {
    if (part == "..") return Refuse(name, "a name with \"..\"");
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
    // As a file of zeros reads: they end a tar.
    if (entries_ == 0) return Error{ErrorCode::kInvalid, "there is nothing in it"};
    return meter_.Done(archive_size - told_);
  }

 private:
  Status TakeAll() {
    for (;;) {
      TRY_ASSIGN(const auto entry, archive_.Next());
      if (!entry) return Ok();
      if (++entries_ > limits_.entries)
        return Error{ErrorCode::kInvalid, StrCat("more than ", limits_.entries, " entries")};
      TRY(Take(*entry));
      TRY(Tell());
    }
  }

  Status Take(const ArchiveEntry& entry) {
    TRY_ASSIGN(const std::string name, CleanName(entry.name));
    if (entry.encrypted) return Refuse(entry.name, "it is encrypted");
    if (name.empty() && entry.kind == ArchiveEntry::Kind::kFolder) return Ok();
    if (name.empty()) return Refuse(entry.name, "not a name");
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
      if (offset < end) return Refuse(entry.name, "its pieces overlap");
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
      return Refuse(entry.name,
                    StrCat("it unpacks to more than ", limits_.ratio, " times its size: no real data does"));
    TRY(space_.Take(size));
    TRY(WriteAll(file.get(), bytes, tree_.PathOf(name)));
    TRY(meter_.Copied(size));
    return Tell();
  }

  // A hole takes no space on the disk. It counts as size because later readers of the file read it.
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
    return Refuse(entry.name, StrCat("more than ", limits_.bytes >> 20, " MB would be unpacked up to here"));
  }

  // Where it reads now: in a zip also backwards.
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
  int64_t unpacked_ = 0;  // bytes, with holes
  int64_t written_ = 0;   // bytes, without them
  int64_t told_ = 0;
};

}  // namespace

Status Unpack(int fd, TreeWriter& tree, const UnpackLimits& limits, SpaceGuard& space, StageMeter& meter) {
  TRY_ASSIGN(const auto archive, ArchiveReader::Open(fd));
  struct stat info {};
  if (fstat(fd, &info) != 0) return Error{ErrorCode::kInvalid, ErrnoText(errno)};
  return Unpacker(*archive, tree, limits, space, meter).Run(info.st_size);
}

}  // namespace tony
