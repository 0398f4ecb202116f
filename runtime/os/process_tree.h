// Finding and ending everything that a process started, setsid escapees included. Reads /proc; Linux only.
//
// Two marks together miss nothing that does not hide on purpose: descendants of a subreaper stay its descendants, and
// the environment variable of a container is inherited by what runs in it.
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

// One process that is not a zombie. The environment is what it was started with, "NAME=value\0..."; empty where it
// cleared it or is not ours to read.
struct ProcessEntry {
  pid_t pid = 0;
  pid_t parent = 0;
  std::string environment;
  std::string start_time = {};  // as StartTime()
};
// Of this machine, by ascending pid, each looked at as it is listed: a process that forks and ends again and again is
// met, unless its number falls back below those that have been looked at. kUnavailable: descriptors or memory are
// short, and some that live could not be looked at.
Result<std::vector<ProcessEntry>> TryListProcesses();
std::vector<ProcessEntry> ListProcesses();  // those that could be looked at
// The value of `name` in an environment as above; "" if it is not in it.
std::string_view VariableIn(std::string_view environment, std::string_view name);

// Of this process, zombies included. Cheap: one file, not one for each process of the machine. None that is there at
// the end is missing, if nobody reaps one meanwhile: new ones come last in the kernel's list. Nothing on a kernel that
// does not tell (CONFIG_PROC_CHILDREN), and in a shortage of descriptors.
std::optional<std::vector<pid_t>> OwnChildren();
std::vector<pid_t> ChildrenOf(pid_t pid);  // of all its threads; some may be missing, as others reap them

void BecomeSubreaper();                      // orphans among our descendants become our children
std::vector<pid_t> Descendants(pid_t root);  // of `root`, without it; zombies are not counted
std::vector<pid_t> DescendantsIn(const std::vector<ProcessEntry>& processes, pid_t root);
std::vector<pid_t> WithEnvironment(std::string_view name_and_value);  // "TONY_CONTAINER=..." in its environment; not us
std::string StartTime(pid_t pid);  // field 22 of /proc/pid/stat: tells a reused pid; "" if there is none

struct ProcessStat {
  pid_t parent = 0;
  char state = '?';   // as proc(5) has it
  bool dead = false;  // a zombie with all its threads
  std::string start_time;
};
std::optional<ProcessStat> ReadStat(pid_t pid);               // nothing: there is none, or it cannot be looked at
std::optional<ProcessStat> ParseStat(std::string_view text);  // of /proc/pid/stat; nothing: it is not whole

// If it is still the process that was seen. Our own children are not reaped meanwhile.
void SignalSeen(const ProcessEntry& seen, int signal);
// To those of `pids` that are.
void SignalSeen(const std::vector<ProcessEntry>& seen, const std::vector<pid_t>& pids, int signal);
// As ProcessEntry has it. Waits some 0.2 s for one that is just becoming another program (execve).
std::string EnvironmentOf(pid_t pid);
std::optional<std::string> TryEnvironmentOf(pid_t pid);          // nothing: a shortage keeps us from looking
bool IsMarked(pid_t pid, std::string_view name_and_value);       // as WithEnvironment()
void SignalMarked(std::string_view name_and_value, int signal);  // those of WithEnvironment()
// By their numbers, whoever has them now: for own children that are not reaped, and tests.
void SignalAll(const std::vector<pid_t>& pids, int signal);

// Another process, so held that a signal cannot reach a stranger who has got its number meanwhile.

// How often an end is looked for that no descriptor tells: people do not notice a delay this short.
inline constexpr Duration kBetweenLooks{20};

// By a pidfd. Where there is none (Linux before 5.3, or a container whose filter does not know the call) by its file
// /proc/PID/stat: once it is open, it tells of this process and never of the next one with the same number. Then
// Signal() looks before it signals, and the end is looked for again and again. Both open nothing, so a shortage of
// descriptors is not taken for an end.
//
// What is read of the pid after this was made, and before a signal arrives, was read of this process. Any thread; the
// watch is for the loop's.
class HeldProcess {
 public:
  HeldProcess() = default;  // of none
  explicit HeldProcess(pid_t pid);

  bool valid() const { return fd_.valid(); }                 // false: errno says why; ESRCH: there is no such process
  bool TellsItsEnd() const { return valid() && pid_ == 0; }  // false: WhenEnded() has to look again and again
  // 0: only asks. False: nothing was sent, and errno says why. ESRCH: it has been reaped. EPERM: it is not ours to
  // signal. Another: it cannot be looked at for the moment (ENOMEM) and may live.
  bool Signal(int signal) const;
  // Calls `fn` each time that the process is seen to have ended, until the handle is destroyed, which must come before
  // the end of this.
  EventLoop::FdWatch WhenEnded(EventLoop& loop, EventLoop::Callback fn) const;

 private:
  UniqueFd fd_;    // the pidfd, or the file
  pid_t pid_ = 0;  // where it is the file
};

// The processes below this one, a subreaper, and how they are ended. Linux only.
//
// A process that ends hands its children to its nearest subreaper before anybody can reap it. So whoever has no child,
// living or dead, has no descendant: waitid() alone says that all are gone (ProcessRunner::ReapStrangers). A look at
// /proc does not: one that forks and ends every few milliseconds is dead or not yet listed in each of them.
//
// Loop thread only, and that is the main thread: whoever reaps children meanwhile would make a walk miss some.

// What a walk down the tree met.
struct TreeWalk {
  std::set<pid_t> living;  // no zombies
  size_t in_kernel = 0;    // of these: cannot end before the kernel lets go of it (state D)

  std::string Describe() const;  // of some: "3 processes, process 4711 for one"
};

// Which children of ours are left alone, with all below them. None: all are meant.
using Spared = std::function<bool(pid_t)>;

// To all that are below us before the first is signalled, from the top down: also to what one leaves that ends of it at
// once, and not to what a handler of it starts, which may be about to save something. Each is held, and is still the
// process that was seen, before it is signalled; our own children are not reaped meanwhile.
TreeWalk SignalOwnTree(int signal, const Spared& spared = nullptr);

// SIGKILL to all. Where new ones come meanwhile, stops all before it kills them: what is stopped forks no more, and who
// keeps up a number sees no room. One may get through all the same: called again until there is no child. Returns what
// was met last; most of it is on its way out.
TreeWalk KillOwnTree(const Spared& spared = nullptr);

}  // namespace tony
