// Reads archives: zip, and tar plain or packed by gzip, bzip2, xz or zstd; told apart by content. libarchive is behind
// it, in archive_reader.cc alone.
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
  std::string name;  // as it is in the archive: anything but a NUL
  Kind kind = Kind::kFile;
  bool executable = false;
  bool encrypted = false;
  std::string target;  // of links
  int64_t size = 0;    // bytes of a file, holes included
  timespec modified{};
};

// A piece of a file. What no piece covers is a hole, which reads as zeros.
struct ArchiveData {
  int64_t offset = 0;
  std::string_view bytes;  // until the reader is called again
};

// What it says of an archive is true or an error, but nothing that it says may be trusted. All errors are kInvalid and
// say what is wrong with the archive, without its name.
class ArchiveReader {
 public:
  // Reads `fd` from its beginning; it stays the caller's and must stay open.
  static Result<std::unique_ptr<ArchiveReader>> Open(int fd);
  ~ArchiveReader();

  Result<std::optional<ArchiveEntry>> Next();     // nothing: the end
  Result<std::optional<ArchiveData>> NextData();  // of the newest entry; nothing: its end
  int64_t Consumed() const;                       // bytes of the archive so far

 private:
  struct State;
  explicit ArchiveReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tony
