// Replaces functions of the C library: every call by which this program opens, reads, changes, lists, locks or stats
// files comes here first, including the calls of std::filesystem and of streams. In a test program that links it, the
// calls do what the C library does, except for what the hook changes.
//
// It does not see system calls that a library makes itself, mmap, ioctl, and other processes.
#pragma once

#include <sys/types.h>

#include <mutex>
#include <string>
#include <string_view>

namespace tony {

struct FileCall {
  // "open", "write", "rename", "lock", ...; openat is reported as "open"
  std::string_view name;
  // The file; for a call with a path, the folder in which a relative path begins.
  int fd = -1;
  // The path; for a rename or a link the source.
  const char* path = nullptr;
  const char* to = nullptr;
  unsigned flags = 0;
  // for a write, like `size` and `offset`
  const void* bytes = nullptr;
  size_t size = 0;    // also for a resize
  off_t offset = -1;  // -1: current position
};

// Any thread may call the hook. File calls that the hook makes itself are not passed to it.
class FileHook {
 public:
  virtual ~FileHook() = default;
  // Returns a lock on mutex_ that is held during the call.
  virtual std::unique_lock<std::mutex> Lock(const FileCall&) { return {}; }
  // Returns an error number to make the call fail without being made, or 0. The hook may make a write shorter.
  virtual int Before(FileCall&) { return 0; }
  // Returns the path that the kernel gets.
  virtual std::string Instead(const char* path) { return path; }
  // Called after a call that was made and did not fail.
  virtual void After(const FileCall&, long /*result*/) {}

 protected:
  friend void SetFileHook(FileHook* hook);
  // Free in a copy of this process (fork), even if another thread held it.
  std::mutex mutex_;
};

// Sets the hook; null removes it. There is one hook at a time. Call it only while no other thread uses files.
void SetFileHook(FileHook* hook);

std::string PathOfFd(int fd);  // empty if it has none

}  // namespace tony
