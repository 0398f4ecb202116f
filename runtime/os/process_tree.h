// Finds and ends everything that a process started, including processes that left its session by setsid(). Reads /proc;
// Linux only.
//
// There are two ways to find the processes of a job: as descendants of a subreaper, which they always stay, and by the
// environment variable of their container, which processes inherit. A process that does not hide on purpose is found in
// at least one of these ways.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace tony {

// A process. `environment` is the one that the process was started with, "NAME=value\0..."; empty if the process
// cleared it, or if this user may not read it.
struct ProcessEntry {
  pid_t pid = 0;
  pid_t parent = 0;
  std::string environment;
  std::string start_time = {};  // as StartTime() returns it
};
// Returns all processes of this machine except zombies, by ascending pid. Each process is read as soon as it is listed.
// Therefore a process that forks and exits again and again is found, unless its new pid is below the pids that were
// already read. Processes with a pid up to `above` are left out. kUnavailable: descriptors or memory are short, and
// some living processes could not be read.
Result<std::vector<ProcessEntry>> TryListProcesses(pid_t above = 0);
// Like TryListProcesses(), but without the processes that could not be read.
std::vector<ProcessEntry> ListProcesses();
// Returns the value of `name` in `environment`, a text of the form of ProcessEntry::environment; "" if the name is not
// set.
std::string_view VariableIn(std::string_view environment, std::string_view name);

// Returns the children of this process, zombies included. The call is cheap, because it reads one file for each thread
// of this process, and not one for each process of the machine. If no thread reaps children meanwhile, every child that
// still exists at the return is in the list, because the kernel adds new children at the end of its list. nullopt: the
// kernel lacks CONFIG_PROC_CHILDREN, or descriptors are short.
std::optional<std::vector<pid_t>> OwnChildren();
// Returns the children of all threads of `pid`. Some may be missing if children are reaped meanwhile.
std::vector<pid_t> ChildrenOf(pid_t pid);

// Makes this process a subreaper: orphans among its descendants become its children.
void BecomeSubreaper();
// Returns the descendants of `root`, without `root` and without zombies.
std::vector<pid_t> Descendants(pid_t root);
std::vector<pid_t> DescendantsIn(const std::vector<ProcessEntry>& processes, pid_t root);
// Returns the processes that have this setting in their environment, e.g. "TONY_CONTAINER=...", except this process.
std::vector<pid_t> ProcessesWithEnvironment(std::string_view name_and_value);
// Returns field 22 of /proc/pid/stat, which distinguishes the process from a later one with the same pid; "" if the
// process does not exist.
std::string StartTime(pid_t pid);

struct ProcessStat {
  pid_t parent = 0;
  char state = '?';  // state letter of proc(5)
  // True if all threads of the process have ended.
  bool dead = false;
  std::string start_time;
};
// Reads /proc/pid/stat; nullopt if the process does not exist or cannot be read.
std::optional<ProcessStat> ReadStat(pid_t pid);
// Parses the text of /proc/pid/stat; nullopt if it is incomplete.
std::optional<ProcessStat> ParseStat(std::string_view text);

// Sends `signal` to the process `seen`, if it is still the same process. No thread may reap children of this process
// meanwhile.
void SignalIfUnchanged(const ProcessEntry& seen, int signal);
// Sends `signal` to each of `pids` that is listed in `seen` and is still the same process.
void SignalIfUnchanged(const std::vector<ProcessEntry>& seen, const std::vector<pid_t>& pids, int signal);
// Returns the environment of a process, in the form of ProcessEntry::environment. Waits up to about 0.2 s for a process
// that is just becoming another program (execve).
std::string EnvironmentOf(pid_t pid);
// Like EnvironmentOf(); nullopt if descriptors or memory are too short to read it.
std::optional<std::string> TryEnvironmentOf(pid_t pid);
// Returns true if the process has this setting in its environment.
bool HasEnvironmentSetting(pid_t pid, std::string_view name_and_value);
// Sends `signal` to all processes that ProcessesWithEnvironment() returns.
void SignalWithEnvironment(std::string_view name_and_value, int signal);
// Sends `signal` to these pids. The processes that have the pids now are not checked. The function is only for own
// children that are not reaped yet, and for tests.
void SignalAll(const std::vector<pid_t>& pids, int signal);

// A handle on another process: a signal through it cannot reach a later process with the same pid.

// The interval at which a process is checked if no descriptor reports its end. The interval is so short that people do
// not notice the delay.
inline constexpr Duration kCheckInterval{20};

// Holds a process by a pidfd. Without pidfds (Linux before 5.3, or a container whose filter does not know the call) the
// open file /proc/PID/stat takes the place of the pidfd. This file describes only this process, never a later one with
// the same pid. In that case Signal() reads the file before it sends the signal, and WhenEnded() polls. Neither
// function opens a descriptor, so a shortage of descriptors is not mistaken for an end.
//
// If Signal() succeeds, everything that was read about the pid since this object was made belongs to this process. Any
// thread may use this object; the watch belongs to the loop thread.
class HeldProcess {
 public:
  HeldProcess() = default;  // holds no process
  explicit HeldProcess(pid_t pid);

  // Returns false if the process is not held; errno then gives the reason. ESRCH: the process does not exist.
  bool valid() const { return fd_.valid(); }
  // Returns false if WhenEnded() has to poll.
  bool ReportsEnd() const { return valid() && pid_ == 0; }
  // Sends `signal`; 0 only checks the process. Returns false if the signal was not sent; errno then gives the reason.
  // ESRCH: the process has been reaped. EPERM: this user may not signal it. Other values, e.g. ENOMEM: the process
  // cannot be checked at the moment and may be alive.
  bool Signal(int signal) const;
  // Calls `fn` each time the process is found to have ended, until the returned handle is destroyed. Destroy the handle
  // before this object.
  EventLoop::FdWatch WhenEnded(EventLoop& loop, EventLoop::Callback fn) const;

 private:
  UniqueFd fd_;    // pidfd, or the stat file
  pid_t pid_ = 0;  // set only with a stat file
};

// Signals and ends all processes below this one, which must be a subreaper. Linux only.
//
// When a process ends, its children are handed to its nearest subreaper before its parent can reap it. If a process has
// no child, living or zombie, it therefore has no descendants: waitid() alone proves that all have ended
// (ProcessRunner::ReapAllChildren). A scan of /proc proves nothing, because a process that forks and exits every few
// milliseconds is dead or not yet listed whenever the scan reaches it.
//
// Call these functions on the loop thread only, which must be the main thread. A thread that reaps children meanwhile
// would make a walk miss some.

// The processes that a walk down the tree found.
struct TreeWalk {
  std::set<pid_t> living;  // without zombies
  // The number of processes in `living` that cannot end before the kernel releases them (state D).
  size_t uninterruptible = 0;

  // Returns the number of living processes and one of them, e.g. "3 processes, e.g. process 4711".
  std::string Describe() const;
};

// Returns true for children of this process that are spared, with all processes below them. An empty function spares no
// child.
using IsSparedChild = std::function<bool(pid_t)>;

// Signals all processes below this one, from the top down. All processes are listed before the first is signalled, so
// the children of a process that ends at once are signalled, too. A process that a signal handler starts is not
// signalled, because it may be about to save something. Before a process is signalled, a handle on it is opened, and
// the process is compared with the listed one. No thread may reap children of this process meanwhile. If `is_meant` is
// not empty, only the processes for which it returns true are signalled.
TreeWalk SignalDescendants(int signal, const IsSparedChild& spared = nullptr,
                           const std::function<bool(pid_t)>& is_meant = nullptr);

// Sends SIGKILL to all processes below this one. If new processes appear meanwhile, stops all processes before it kills
// them. A stopped process does not fork. A program that replaces its killed processes is stopped, too, before it can
// notice that one is missing. A process may still escape, so call this again until no child is left. Returns the
// processes that the last walk met; most of them are about to end.
TreeWalk KillDescendants(const IsSparedChild& spared = nullptr);

}  // namespace tony
