// The type of file system that a path is on, and its free space.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "runtime/base/result.h"
#include "runtime/base/time.h"

namespace tony {

struct FileSystem {
  std::string type;  // e.g. "nfs"; "type 0x1a2b" if unknown
  // True if other machines may have the file system mounted. The locks and changes of other machines are then noticed
  // late on this machine, or never.
  bool network = false;
  int64_t free_bytes = 0;  // bytes free for unprivileged users
  int64_t free_files = 0;  // free inodes; -1: not counted
  bool read_only = false;
  // True if the file system is mounted noexec: programs on it cannot be started.
  bool is_noexec = false;
};

// Returns the file system of `path`, or of the nearest existing folder above it.
Result<FileSystem> FileSystemOf(const std::filesystem::path& path);

// Returns the type of file system for the magic number that statfs(2) reports, and whether it is a network file system.
FileSystem FileSystemOfMagic(uint32_t magic);

std::string Describe(const FileSystem& system);  // e.g. "ext4, 1234 MB free"

// Returns true if files can be created in `folder`, or in the nearest existing folder above it. The check writes 4 KB
// to a file without a name (O_TMPFILE): this notices a full disk and leaves no file. Sets errno on failure.
bool CanCreateFilesIn(const std::filesystem::path& folder);

std::filesystem::path NearestExisting(std::filesystem::path path);

// The identity of this machine and of its current boot. Processes and locks end with a boot; files do not.

std::string HostName();
// Returns the kernel's boot ID, which changes at each start of the machine; "" if the kernel does not provide one.
std::string BootId();
// Returns the time when the current boot began.
Instant BootTime(Instant now);

}  // namespace tony
