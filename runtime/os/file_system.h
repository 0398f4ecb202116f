// What kind of file system a path is on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "runtime/base/result.h"
#include "runtime/base/time.h"

namespace tony {

struct FileSystem {
  std::string type;        // "ext4", "nfs"; "type 0x1a2b" where we know no name
  bool network = false;    // other machines may have it, too: locks and changes there are not seen here, or late
  int64_t free_bytes = 0;  // for us
  int64_t free_files = 0;  // -1: it counts none
  bool read_only = false;
  bool no_programs = false;  // mounted noexec: no program can be started from there
};

// Of `path`, or of the nearest folder above it that is there.
Result<FileSystem> FileSystemOf(const std::filesystem::path& path);

// By the kernel's number of it (statfs): type and network.
FileSystem FileSystemOfMagic(uint32_t magic);

std::string Describe(const FileSystem& system);  // "ext4, 1234 MB free"

// Whether files can be made there, or in the nearest folder above it that is there: a file without a name shows it,
// also on a full disk, and leaves nothing. Sets errno.
bool MayBeWritten(const std::filesystem::path& folder);

std::filesystem::path NearestExisting(std::filesystem::path path);

// Which machine this is, and which run of it: processes and locks end with a run, files do not.

std::string HostName();
std::string BootId();           // the kernel's, anew at each start of the machine; "" where it does not tell
Instant BootTime(Instant now);  // when this run began

}  // namespace tony
