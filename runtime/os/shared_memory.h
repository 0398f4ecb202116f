// Files in /dev/shm, which keep their memory when the processes that made them have ended. Linux only.
//
// Other users may write in that folder. A file is therefore identified by its inode, and removed only if it is a
// regular file of this user; links are never followed. The folder is sticky, so no other user can put another file in
// its place between the check and the removal.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tony {

// Used on the loop thread only. A call reads /proc/PID/maps and /proc/PID/fd once for each process. It reads nothing if
// this user has no file in /dev/shm.
class SharedMemory {
 public:
  // Call this right before the processes are ended. Notes the files in /dev/shm that each process has open or mapped.
  // `processes` is called only if this user has files there.
  void Note(const std::function<std::set<pid_t>()>& processes);
  // Call this once the processes have ended. Removes the noted files that no readable process has open or mapped, and
  // forgets the others. Returns lines for the log: which files were removed, which were left, and why. If a process
  // opens a file during its removal, the process keeps the open file, which then has no name. If descriptors are short,
  // no file is removed.
  std::vector<std::string> Free();

 private:
  // Key: inode on the file system of /dev/shm. Value: path below /dev/shm, as the process saw it.
  std::map<ino_t, std::string> noted_;
};

}  // namespace tony
