#include "runtime/os/file_system.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <string_view>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/os/files.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

struct Kind {
  uint32_t magic;
  std::string_view type;
  bool network;
};

// The magic numbers come from statfs(2), and for file systems outside of the kernel from the headers of their vendors.
// A FUSE file system may be local or remote. FUSE counts as local, because containers have FUSE roots (fuse-overlayfs,
// virtiofs) more often than jobs live on sshfs.
constexpr Kind kKinds[] = {
    {0xEF53, "ext4", false},
    {0x58465342, "xfs", false},
    {0x9123683E, "btrfs", false},
    {0x01021994, "tmpfs", false},
    {0x794C7630, "overlayfs", false},
    {0x2FC12FC1, "zfs", false},
    {0xF2F52010, "f2fs", false},
    {0x858458F6, "ramfs", false},
    {0x65735546, "fuse", false},
    {0x6969, "nfs", true},
    {0x517B, "smb", true},
    {0xFF534D42, "cifs", true},
    {0xFE534D42, "smb2", true},
    {0x0BD00BD0, "lustre", true},
    {0x47504653, "gpfs", true},
    {0x19830326, "beegfs", true},
    {0x01021997, "9p", true},
    {0x00C36400, "ceph", true},
    {0x5346414F, "afs", true},
    {0x6B414653, "afs", true},
    {0x73757245, "coda", true},
    {0x01161970, "gfs2", true},
    {0x7461636F, "ocfs2", true},
    {0x20030528, "orangefs", true},
    {0xAAD7AAEA, "panfs", true},
    {0xBACBACBC, "vmhgfs", true},
};

}  // namespace

FileSystem FileSystemOfMagic(uint32_t magic) {
  for (const Kind& kind : kKinds) {
    if (kind.magic == magic) return {.type = std::string(kind.type), .network = kind.network};
  }
  char text[32];
  std::snprintf(text, sizeof text, "type 0x%x", magic);
  return {.type = text};
}

fs::path NearestExisting(fs::path path) {
  std::error_code error;
  while (path.has_relative_path() && !fs::exists(path, error)) path = path.parent_path();
  return path.empty() ? fs::path(".") : path;
}

Result<FileSystem> FileSystemOf(const fs::path& path) {
  const fs::path there = NearestExisting(path);
  struct statfs kind = {};
  struct statvfs room = {};
  if (statfs(there.c_str(), &kind) != 0 || statvfs(there.c_str(), &room) != 0)
    return FileError(ErrorCode::kUnavailable, "check the file system of", there, errno);
  FileSystem file_system = FileSystemOfMagic(static_cast<uint32_t>(kind.f_type));
  file_system.free_bytes = static_cast<int64_t>(room.f_bavail * room.f_frsize);
  file_system.free_files = room.f_files == 0 ? -1 : static_cast<int64_t>(room.f_favail);
  file_system.read_only = (room.f_flag & ST_RDONLY) != 0;
  file_system.is_noexec = (room.f_flag & ST_NOEXEC) != 0;
  return file_system;
}

std::string Describe(const FileSystem& system) {
  constexpr int64_t kMegabyte = 1 << 20;
  return StrCat(system.type, system.network ? " (network)" : "", ", ", system.free_bytes / kMegabyte, " MB free");
}

bool CanCreateFilesIn(const fs::path& folder) {
  const fs::path there = NearestExisting(folder);
  const UniqueFd fd(open(there.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!fd.valid() && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))  // a file system without O_TMPFILE
    return access(there.c_str(), R_OK | W_OK | X_OK) == 0;
  const std::string page(4096, 'x');
  return fd.valid() && write(fd.get(), page.data(), page.size()) == static_cast<ssize_t>(page.size());
}

std::string HostName() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

std::string BootId() {
  const auto id = ReadFile("/proc/sys/kernel/random/boot_id");
  return id.ok() ? std::string(Trim(*id)) : "";
}

Instant BootTime(Instant now) {
  timespec up{};
  clock_gettime(CLOCK_BOOTTIME, &up);  // includes the machine's sleep
  return now -
         std::chrono::duration_cast<Duration>(std::chrono::seconds(up.tv_sec) + std::chrono::nanoseconds(up.tv_nsec));
}

}  // namespace tony
