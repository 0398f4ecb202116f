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

namespace tony {

// One process that is not a zombie. The environment is what it was started with, "NAME=value\0..."; empty where it
// cleared it or is not ours to read.
struct ProcessEntry {
  pid_t pid = 0;
  pid_t parent = 0;
  std::string environment;
};
std::vector<ProcessEntry> ListProcesses();  // of this machine, at about one moment
// The value of `name` in an environment as above; "" if it is not in it.
std::string_view VariableIn(std::string_view environment, std::string_view name);

// Of this process, zombies included. Cheap: one file, not one for each process of the machine. Nothing on a kernel
// that does not tell (CONFIG_PROC_CHILDREN).
std::optional<std::vector<pid_t>> OwnChildren();

void BecomeSubreaper();                      // orphans among our descendants become our children
std::vector<pid_t> Descendants(pid_t root);  // of `root`, without it; zombies are not counted
std::vector<pid_t> DescendantsIn(const std::vector<ProcessEntry>& processes, pid_t root);
std::vector<pid_t> WithEnvironment(std::string_view name_and_value);  // "TONY_CONTAINER=..." in its environment; not us
std::string StartTime(pid_t pid);  // field 22 of /proc/pid/stat: tells a reused pid; "" if there is none
void SignalAll(const std::vector<pid_t>& pids, int signal);

}  // namespace tony
