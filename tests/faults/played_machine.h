// A machine whose processes are played, below the real code that reads /proc and signals processes. While a
// PlayedMachine lives, /proc has its processes and no others, by their numbers, by "self" and by "thread-self"; what
// /proc has besides is the real one's. pidfds and kill() are for its processes alone.
//
// Not played: fork, exec, wait, getrusage.
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
  char state = 'S';  // as proc(5) has it; Z with more than one thread: only the first has ended
  int threads = 1;
  int forked_by = 0;  // which thread of the parent
  std::string name = "played";
  std::string command_line = {};
  uid_t user = geteuid();
  int64_t ticks = 0, pages = 0;                     // used
  std::filesystem::path cgroup = {};                // of MakeCgroup()
  std::map<int, std::filesystem::path> files = {};  // open for writing
  std::set<int> ignored = {};                       // signals
};

struct PlayedSignal {
  pid_t pid = 0;
  std::string start;  // of who got it
  int signal = 0;
  bool operator==(const PlayedSignal&) const = default;
};

// One at a time, one thread. It has init and this process, a subreaper, from the start.
class PlayedMachine {
 public:
  class Hook;

  PlayedMachine();
  ~PlayedMachine();
  PlayedMachine(const PlayedMachine&) = delete;

  void Add(pid_t pid, PlayedProcess process);            // in the place of one that had the number before
  void End(pid_t pid);                                   // it is a zombie then, and its children are ours
  void Reap(pid_t pid);                                  // it is gone
  void MakeCgroup(const std::filesystem::path& folder);  // is there: gets cgroup.procs and cgroup.events
  PlayedProcess* Find(pid_t pid);                        // nullptr: there is none
  std::vector<pid_t> Living() const;                     // without init and us

  // Told before each look for a file of /proc by its name ("12/stat"), before each read of one that is open ("read
  // 12/stat"), before a process is held ("hold 12") and before a signal reaches it ("signal 12"). It may change
  // anything.
  std::function<void(const std::string& what)> before;
  // The same words, and what fails then; "hold": each hold.
  std::map<std::string, int> errors;
  std::set<pid_t> unlisted;           // /proc does not list these
  std::vector<PlayedSignal> signals;  // that have reached somebody, without 0

 private:
  std::unique_ptr<Hook> hook_;
};

}  // namespace tony
