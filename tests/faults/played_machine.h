// A machine with simulated (played) processes, below the real code that reads /proc and signals processes. While a
// PlayedMachine lives, /proc has its processes and no others, by their pids, by "self" and by "thread-self"; all other
// files of /proc are the real ones. pidfds and kill() reach only its processes.
//
// fork, exec, wait and getrusage are not simulated.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/unique_fd.h"

namespace tony {

struct PlayedProcess {
  pid_t parent = 1;
  std::string start = "100";
  std::vector<std::string> environment = {};  // "NAME=value"
  // The state as in proc(5). Z with more than one thread: only the first thread has ended.
  char state = 'S';
  int threads = 1;
  int forked_by = 0;  // the parent's thread that forked
  std::string name = "played";
  std::string command_line = {};
  uid_t user = geteuid();
  int64_t ticks = 0, pages = 0;                     // resources used
  std::filesystem::path cgroup = {};                // a folder of MakeCgroup()
  std::map<int, std::filesystem::path> files = {};  // files open for writing
  std::set<int> ignored = {};                       // ignored signals
};

struct PlayedSignal {
  pid_t pid = 0;
  std::string start;  // start time of the receiver
  int signal = 0;
  bool operator==(const PlayedSignal&) const = default;
};

// At most one PlayedMachine exists, used by one thread. From the start it has init and this process, which is a
// subreaper.
class PlayedMachine {
 public:
  class Hook;

  PlayedMachine();
  ~PlayedMachine();
  PlayedMachine(const PlayedMachine&) = delete;

  // Adds a process; it replaces one that had the pid before.
  void Add(pid_t pid, PlayedProcess process);
  // Makes the process a zombie; this process adopts its children.
  void End(pid_t pid);
  void Reap(pid_t pid);  // Removes the process.
  // Adds cgroup.procs and cgroup.events to an existing folder.
  void MakeCgroup(const std::filesystem::path& folder);
  PlayedProcess* Find(pid_t pid);  // nullptr: unknown pid
  // Returns the living processes except init and this one.
  std::vector<pid_t> Living() const;

  // Called before each use of a file of /proc by its name ("12/stat"), before each read of an open file ("read
  // 12/stat"), before a process is held ("hold 12"), and before a signal reaches it ("signal 12"). The callback may
  // change anything.
  std::function<void(const std::string& what)> before;
  // Operations that fail, by the same words, and their errno; "hold" means each hold.
  std::map<std::string, int> errors;
  std::set<pid_t> unlisted;           // processes missing in /proc's list
  std::vector<PlayedSignal> signals;  // All delivered signals except signal 0.

 private:
  std::unique_ptr<Hook> hook_;
};

}  // namespace tony
