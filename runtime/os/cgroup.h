// The cgroup that counts and limits the memory of this process, on kernels that have cgroups. Linux only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace tony {

enum class CgroupVersion { kOne, kTwo };
std::string_view ToString(CgroupVersion version);  // "v1", "v2"

// Name prefix of the cgroups that are made for containers.
inline constexpr std::string_view kContainerCgroupPrefix = "tony-";

struct OwnCgroup {
  CgroupVersion version = CgroupVersion::kTwo;
  // Mount point of the hierarchy: <root>/sys/fs/cgroup or a folder in it, where systemd mounts it.
  std::filesystem::path mount;
  // The cgroup's folder: `mount`, or a folder below it.
  std::filesystem::path folder;
};

// Returns the cgroup that counts the memory of this process. nullopt: the kernel has no cgroups, or they cannot be seen
// from here. `root` differs from "/" only in tests.
std::optional<OwnCgroup> OwnMemoryCgroup(const std::filesystem::path& root = "/");
// Returns the cgroup of this process in the v2 hierarchy, whichever controllers it has. nullopt: this process is in no
// v2 hierarchy that can be seen.
std::optional<OwnCgroup> OwnUnifiedCgroup(const std::filesystem::path& root = "/");

// Counters that the kernel keeps for a cgroup's memory: the limit, the use, and the processes killed for lack of
// memory. These functions read files and block for microseconds. Any thread may call them.

// Returns the number behind `name` in a file of "name number" lines; nullopt if no line gives one.
std::optional<int64_t> NumberIn(const std::filesystem::path& file, std::string_view name);

// Returns the version of a cgroup, judged by the files in its folder. nullopt: the cgroup does not count memory, or
// does not exist any more.
std::optional<CgroupVersion> MemoryCgroupVersion(const std::filesystem::path& cgroup);

// Returns how many processes in the cgroup the kernel has killed for lack of memory so far. v2 reads `memory.events`,
// which includes the cgroups below; v1 reads `memory.oom_control`, which does not. nullopt: the kernel does not report
// the number, e.g. v1 before Linux 4.13.
std::optional<int64_t> OomKillsIn(CgroupVersion version, const std::filesystem::path& cgroup);

struct MemoryOfCgroup {
  std::optional<int64_t> limit_mb;  // nullopt: the cgroup sets no limit
  // The highest use so far. nullopt: the kernel does not report it, e.g. v2 before Linux 5.19.
  std::optional<int64_t> peak_mb;
  // The memory that is charged now for files in /dev/shm and other shared memory, including files of ended processes.
  int64_t shared_mb = 0;
};
MemoryOfCgroup MemoryOf(CgroupVersion version, const std::filesystem::path& cgroup);

// Prefix of the text that DescribeOom() returns.
inline constexpr std::string_view kOutOfMemory = "out of memory";
// Describes why processes were killed for lack of memory, e.g. "out of memory: the container's limit of 2048 MB was
// reached (peak 2047 MB), 1 process was killed by the kernel". Mentions shared memory if it is at least a tenth of the
// limit. `whose` is the owner of the limit, e.g. "the container's". Returns "" if the cgroup has no limit.
std::string DescribeOom(const MemoryOfCgroup& memory, const std::string& whose, int64_t kills);
// Returns true if the cgroup has a limit and reached it: its peak is at least 90 % of the limit, or is unknown. False
// means that a cgroup above ran out of memory.
bool ReachedItsLimit(const MemoryOfCgroup& memory);

}  // namespace tony
