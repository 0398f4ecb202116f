// Cgroups (v2 or v1) that limit the memory of a container and contain all its processes. Each container has its own,
// with its executor and everything that the executor starts, if cgroups can be made. Processes that cleared their
// environment and left their session stay in it.
//
// A cgroup is identified by its folder, so a later keeper (supervisor of the job) finds it, whatever cgroup that keeper
// itself is in. The functions do plain file I/O that blocks for microseconds, except for the first move into a cgroup
// after a while (KeepCgroupsWarm). A container is never refused because it has no cgroup.
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
  // False: a cgroup only groups the processes of a container and limits nothing.
  bool limits = true;
};
// Finds a folder for cgroups with a memory limit, by trial. v1: the cgroup of this process in the memory hierarchy. v2:
// the nearest cgroup, from the one of this process upwards, in which a child has a memory limit. The own cgroup rarely
// qualifies on v2, because a cgroup that holds processes passes no controller on. The error has the reason why no
// folder was found. `root` is "/" except in tests.
Result<CgroupPlace> FindCgroupPlace(const std::filesystem::path& root = "/");
// Finds a folder for v2 cgroups without limits: the nearest writable cgroup, from the one of this process upwards. Used
// if the memory controller is not available to us, as in the hybrid layout of v1 and v2.
Result<CgroupPlace> FindPlaceWithoutLimits(const std::filesystem::path& root = "/");

// Returns one clause for people: "by cgroup v2 below /sys/fs/cgroup/user.slice", "none: ...".
std::string DescribeMemoryLimits(const std::filesystem::path& root = "/");

std::filesystem::path CgroupFolder(const CgroupPlace& place, const JobId& job, const ContainerId& container);

// Makes the cgroup, if it does not exist, with the limits of `resources`. The memory limit is at least 32 MB, which an
// executor and any program need. Swap beyond the memory is off; on v2 the share of the processors follows `vcores`.
// Returns the descriptor for ProcessSpec::cgroup.
Result<UniqueFd> MakeCgroup(const std::filesystem::path& cgroup, const Resources& resources);
Result<UniqueFd> MakeCgroupWithoutLimits(const std::filesystem::path& cgroup);
// Returns the processes in the cgroup and in the cgroups that its processes made below it; empty if it does not exist.
std::vector<pid_t> ProcessesInCgroup(const std::filesystem::path& cgroup);
// Sends SIGKILL to all processes in the cgroup and below it. Uses cgroup.kill, from which no fork escapes (v2 since
// Linux 5.14). Without cgroup.kill each process is held by a pidfd, found in the cgroup again, and signalled. Returns
// true if a process lived in the cgroup; the caller repeats the call until the result is false.
bool KillCgroup(const std::filesystem::path& cgroup);
// Returns how many processes the kernel has killed for lack of memory, in the cgroup and in the existing cgroups below
// it. A kernel without that count (v1 before Linux 4.13) yields 1 if it has refused memory at the limit.
int64_t OomKillsOfTree(const std::filesystem::path& cgroup);
// Removes the cgroup and the cgroups below it. Ok if it does not exist; an error while a process lives in it.
Status RemoveCgroup(const std::filesystem::path& cgroup);

// Removes the empty cgroups of any job in `place` that are older than `age`. They are left over if a keeper and
// everything else of its job were killed and the job was never restarted. A younger cgroup may be about to get its
// first process.
void RemoveForgottenCgroups(const CgroupPlace& place, std::chrono::seconds age);

// Makes moves into cgroups fast while an AM starts. The first move into any cgroup waits in the kernel for some 8 ms,
// until all processors have passed a quiescent state. Moves within the next 10 ms do not wait. The thread therefore
// moves this process into its present cgroup every few milliseconds, until it is stopped or after a short time. The
// thread does nothing that could disturb a concurrent fork.
std::jthread KeepCgroupsWarm(const std::filesystem::path& root = "/");

}  // namespace tony
