// Files in /dev/shm, which keep their memory when the processes that made them have been ended. Linux only.
//
// Other users may write in that folder. So a file is known by its inode, is removed only where it is a regular file of
// this user, and a link is never followed: its folder is sticky, so that nobody else can put another file in its place
// between the look and the removal.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tony {

// Loop thread only. Looking costs one reading of /proc/PID/maps and fd for each process, and nothing where this user
// has no file in /dev/shm.
class SharedMemory {
 public:
  // Right before these are ended: notes which files there each has open or mapped. `processes` is called only where
  // this user has files there.
  void Note(const std::function<std::set<pid_t>()>& processes);
  // Once they have ended: removes what was noted and no process that can be looked at has open or mapped, and forgets
  // the rest. Returns lines for the log: what was removed, and what was left, and why. A process that opens a file by
  // its name just now keeps what it has opened, without the name. Where descriptors are short nothing is removed.
  std::vector<std::string> Free();

 private:
  std::map<ino_t, std::string> noted_;  // of the file system of /dev/shm; the path below it, as the process saw it
};

}  // namespace tony
