// Memory limits, and all processes of a container, by cgroup v2 or v1 where one may be made: one for each container,
// with its executor and whatever that starts. It keeps those that cleared their environment and left their session.
//
// A cgroup is known by its folder, so a keeper that comes later finds it, wherever it was started itself. Plain file
// I/O that blocks for microseconds, but for the first entry in a while (KeepCgroupsWarm). A container is never refused
// for want of a cgroup.
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

// Where cgroups of containers can be made.
struct CgroupPlace {
  CgroupVersion version = CgroupVersion::kTwo;
  std::filesystem::path folder;
  bool limits = true;  // false: it only keeps a container's processes together
};
// v1: in our own cgroup of the memory hierarchy. v2: in the nearest of our own and those above it in which a child has
// a memory limit; most often not our own, as one that holds processes passes no controller on. Tries it out. The error
// says why there is none. `root` is "/" but in tests.
Result<CgroupPlace> FindCgroupPlace(const std::filesystem::path& root = "/");
// v2 alone, without limits: in the nearest of our own cgroup and those above it that we may write. For where the memory
// controller is not ours to use, as in the hybrid layout of v1 and v2.
Result<CgroupPlace> FindPlaceWithoutLimits(const std::filesystem::path& root = "/");

// One clause for people: "by cgroup v2 below /sys/fs/cgroup/user.slice", "none: ...".
std::string DescribeMemoryLimits(const std::filesystem::path& root = "/");

std::filesystem::path CgroupFolder(const CgroupPlace& place, const JobId& job, const ContainerId& container);

// Harmless if it is there. The limit is at least 32 MB, which an executor and any program need. No swap beyond the
// memory; on v2 also the share of the processors that vcores asks for. Returns what ProcessSpec::cgroup takes.
Result<UniqueFd> MakeCgroup(const std::filesystem::path& cgroup, const Resources& resources);
Result<UniqueFd> MakeCgroupWithoutLimits(const std::filesystem::path& cgroup);
// Of it and of those that its processes made below it. Empty if it is not there.
std::vector<pid_t> ProcessesInCgroup(const std::filesystem::path& cgroup);
// SIGKILL to all in it and below it. By cgroup.kill, which no fork escapes (v2 since Linux 5.14), else one by one, each
// held by a pidfd and seen to be in it. True: something lived in it; called again until the kernel says that it is
// empty.
bool KillCgroup(const std::filesystem::path& cgroup);
// How many of its processes the kernel has killed for want of memory, in it and in those below it that are still there.
// 1 for "some": a kernel that counts none (v1 before Linux 4.13), but has refused memory at the limit.
int64_t OomKillsOfTree(const std::filesystem::path& cgroup);
// With those below it. Harmless if it is gone; an error while something lives in it.
Status RemoveCgroup(const std::filesystem::path& cgroup);

// Removes empty ones in `place`, of whatever job, that are older than `age`: nobody came back for a job whose keeper
// and all else were killed. A younger one may be about to be entered.
void RemoveForgottenCgroups(const CgroupPlace& place, std::chrono::seconds age);

// The first entry into any cgroup waits in the kernel until all processors have passed a quiet point, some 8 ms; those
// within the next 10 ms do not. Sees to it that there was one just before, by moving us to where we are, until it is
// stopped but not for long. The thread does nothing that a fork beside it could trip over.
std::jthread KeepCgroupsWarm(const std::filesystem::path& root = "/");

}  // namespace tony
