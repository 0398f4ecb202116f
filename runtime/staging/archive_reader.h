// Reads archives: zip, and tar, plain or compressed by gzip, bzip2, xz or zstd. The content of the file decides the
// format, not the name. The implementation is libarchive, which only archive_reader.cc uses.
#pragma once

#include <time.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/result.h"

namespace tony {

struct ArchiveEntry {
  enum class Kind { kFile, kFolder, kSymlink, kHardLink, kOther };
  std::string name;  // as archived; any bytes except NUL
  Kind kind = Kind::kFile;
  bool executable = false;
  bool encrypted = false;
  std::string target;  // target of a link
  int64_t size = 0;    // bytes of a file, holes included
  timespec modified{};
};

// A piece of a file's content. A range that no piece covers is a hole, which reads as zeros.
struct ArchiveData {
  int64_t offset = 0;
  std::string_view bytes;  // valid until the next reader call
};

// Lists the entries of an archive, and reads their contents. The archive may be hostile, so callers must check every
// name and target. All errors are kInvalid; the message describes the flaw without the archive's name.
class ArchiveReader {
 public:
  // Reads `fd` from its beginning. The caller still owns `fd` and must keep it open.
  static Result<std::unique_ptr<ArchiveReader>> Open(int fd);
  ~ArchiveReader();

  Result<std::optional<ArchiveEntry>> Next();  // nullopt: end of the archive
  // Returns the next piece of the newest entry; nullopt at the end of the entry.
  Result<std::optional<ArchiveData>> NextData();
  // Returns how many bytes of the archive have been read so far.
  int64_t Consumed() const;

 private:
  struct State;
  explicit ArchiveReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tony
