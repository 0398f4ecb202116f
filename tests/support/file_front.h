// Stands in front of the C library: every call by which this program opens, reads, changes, lists, locks or looks at
// files comes here first, also those of std::filesystem and of streams. Linked into a test program it does what the C
// library does, but for what the hook says.
//
// Not seen: what a library does by calls of its own to the kernel, mmap, ioctl, and other processes.
#pragma once

#include <sys/types.h>

#include <mutex>
#include <string>
#include <string_view>

namespace tony {

struct FileCall {
  std::string_view name;       // "open", "write", "rename", "lock", ...; openat is an open, too
  int fd = -1;                 // whose file; where there is a path: where a relative one begins
  const char* path = nullptr;  // of a rename or a link: where from
  const char* to = nullptr;
  unsigned flags = 0;
  const void* bytes = nullptr;  // of a write, as the next two
  size_t size = 0;              // also of a resize
  off_t offset = -1;            // -1: where the file stands
};

// Any thread may call it. What it does to files itself does not come to it.
class FileHook {
 public:
  virtual ~FileHook() = default;
  virtual std::unique_lock<std::mutex> Lock(const FileCall&) { return {}; }  // on mutex_, for the time of the call
  // Not 0: the call is not made and fails with this error. It may make a write shorter.
  virtual int Before(FileCall&) { return 0; }
  virtual std::string Instead(const char* path) { return path; }  // the path that the kernel gets
  virtual void After(const FileCall&, long /*result*/) {}         // of a call that was made, and did not fail

 protected:
  friend void SetFileHook(FileHook* hook);
  std::mutex mutex_;  // free in a copy of this process (fork), whichever thread had it
};

// Nothing: no hook. One at a time; it is set and removed while no other thread uses files.
void SetFileHook(FileHook* hook);

std::string PathOfFd(int fd);  // "" if there is none

}  // namespace tony
