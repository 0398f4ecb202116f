// Cgroups (v2 or v1) that limit the memory of a container and contain all its processes. If cgroups can be made, each
// container has its own cgroup, with the executor and everything that the executor starts. A process that cleared its
// environment and left its session still stays in the cgroup.
//
// A cgroup is identified by its folder. Therefore a later keeper (supervisor of the job) finds the cgroup, even if that
// keeper runs in another cgroup. The functions do plain file I/O that blocks for microseconds. Only a move into a
// cgroup takes longer, if the last such move was some time ago (KeepCgroupsWarm). A container is never refused because
// it has no cgroup.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "runtime/job/ids.h"
#include "runtime/job/job_spec.h"
#include "runtime/os/cgroup.h"

namespace tony {

// A cgroup folder in which the cgroups of containers can be made.
struct CgroupPlace {
  CgroupVersion version = CgroupVersion::kTwo;
  std::filesystem::path folder;
  // False: a cgroup in this folder only groups the processes of a container and limits nothing.
  bool limits = true;
};
// Finds, by trial, a folder in which cgroups with a memory limit can be made. On v1 this is the cgroup of this process
// in the memory hierarchy. On v2 it is the nearest cgroup whose children have a memory limit, from the cgroup of this
// process upwards. On v2 the cgroup of this process itself rarely qualifies, because a cgroup that holds processes
// passes no controller on to its children. The error gives the reason why no folder was found. `root` is "/" except in
// tests.
Result<CgroupPlace> FindCgroupPlace(const std::filesystem::path& root = "/");
// Finds a folder for v2 cgroups without limits: the nearest writable cgroup, from the cgroup of this process upwards.
// Used if the memory controller is not available in v2, e.g. if v1 and v2 are mounted together (hybrid layout).
Result<CgroupPlace> FindPlaceWithoutLimits(const std::filesystem::path& root = "/");

// Describes for people, in one clause, how memory is limited: "by cgroup v2 below /sys/fs/cgroup/user.slice", "none:
// ...".
std::string DescribeMemoryLimits(const std::filesystem::path& root = "/");

std::filesystem::path CgroupFolder(const CgroupPlace& place, const JobId& job, const ContainerId& container);

// Makes the cgroup if it does not exist, and sets the limits of `resources`. The memory limit is at least 32 MB,
// because an executor and any program need that much. Swap beyond the memory is off. On v2 the share of the processors
// follows `vcores`. Returns the descriptor for ProcessSpec::cgroup.
Result<UniqueFd> MakeCgroup(const std::filesystem::path& cgroup, const Resources& resources);
Result<UniqueFd> MakeCgroupWithoutLimits(const std::filesystem::path& cgroup);
// Returns the processes in the cgroup and in the cgroups below it, which the container's processes made; empty if the
// cgroup does not exist.
std::vector<pid_t> ProcessesInCgroup(const std::filesystem::path& cgroup);
// Sends SIGKILL to all processes in the cgroup and below it. Uses cgroup.kill (v2 since Linux 5.14), from which no fork
// escapes. Without cgroup.kill, each process is held by a pidfd and found in the cgroup again before it is signalled.
// Returns true if the cgroup held a process. The caller repeats the call until the result is false.
bool KillCgroup(const std::filesystem::path& cgroup);
// Returns how many processes the kernel has killed for lack of memory, in the cgroup and in the existing cgroups below
// it. A kernel before Linux 4.13 lacks that count for v1. Then each cgroup whose limit has refused memory counts as one
// killed process.
int64_t OomKillsOfTree(const std::filesystem::path& cgroup);
// Removes the cgroup and the cgroups below it. Returns Ok if the cgroup does not exist, and an error while a process
// lives in it.
Status RemoveCgroup(const std::filesystem::path& cgroup);

// Removes the empty cgroups of all jobs in `place` that are older than `age`. Such a cgroup is left over if the keeper
// and all other processes of a job were killed, and the job was never restarted. A younger cgroup may be about to get
// its first process.
void RemoveForgottenCgroups(const CgroupPlace& place, std::chrono::seconds age);

// Starts a thread that makes moves into cgroups fast while an AM starts. The first move into any cgroup waits in the
// kernel for some 8 ms, until all processors have passed a quiescent state. Moves within the next 10 ms do not wait.
// The thread therefore moves this process into its present cgroup every few milliseconds, for a short time or until it
// is stopped. The thread does nothing that could disturb a concurrent fork.
std::jthread KeepCgroupsWarm(const std::filesystem::path& root = "/");

}  // namespace tony
