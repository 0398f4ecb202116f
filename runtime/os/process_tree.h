// Finding and ending everything that a process started, setsid escapees included. Reads /proc; Linux only.
//
// Two marks together miss nothing that does not hide on purpose: descendants of a subreaper stay its descendants, and
// the environment variable of a container is inherited by what runs in it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"

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

}  // namespace tony
