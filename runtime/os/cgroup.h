// The cgroup that counts and limits the memory of this process, where the kernel has one. Linux only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace tony {

enum class CgroupVersion { kOne, kTwo };
std::string_view ToString(CgroupVersion version);  // "v1", "v2"

// How the names of those begin that are made for a container.
inline constexpr std::string_view kContainerCgroupPrefix = "tony-";

struct OwnCgroup {
  CgroupVersion version = CgroupVersion::kTwo;
  std::filesystem::path mount;   // of the hierarchy, where systemd and all others mount it
  std::filesystem::path folder;  // at or below it
};

// `root` is "/" but in tests. Nothing: no cgroups here, or not to be seen.
std::optional<OwnCgroup> OwnMemoryCgroup(const std::filesystem::path& root = "/");
// That of the v2 hierarchy, whatever it controls. Nothing: there is none.
std::optional<OwnCgroup> OwnUnifiedCgroup(const std::filesystem::path& root = "/");

// The kernel's counters of a cgroup's memory: the limit, the use, and the processes killed for want of memory. File I/O
// that blocks for microseconds; any thread.

// The number behind `name` in a file of "name number" lines. Nothing: there is none.
std::optional<int64_t> NumberIn(const std::filesystem::path& file, std::string_view name);

// The version, by the files in the folder. Nothing: the cgroup counts no memory, or is gone.
std::optional<CgroupVersion> CountsMemory(const std::filesystem::path& cgroup);

// Processes that the kernel has killed in it so far, by `memory.events` (v2, which adds those of the cgroups below) or
// `memory.oom_control` (v1, which does not). Nothing: the kernel does not tell, as v1 before Linux 4.13.
std::optional<int64_t> OomKillsIn(CgroupVersion version, const std::filesystem::path& cgroup);

struct MemoryOfCgroup {
  std::optional<int64_t> limit_mb;  // nothing: it has none of its own
  std::optional<int64_t> peak_mb;   // nothing: the kernel does not tell, as v2 before Linux 5.19
  int64_t shared_mb = 0;            // charged now for files in /dev/shm and other shared memory, also of the ended
};
MemoryOfCgroup MemoryOf(CgroupVersion version, const std::filesystem::path& cgroup);

// How the text below begins.
inline constexpr std::string_view kOutOfMemory = "out of memory";
// "out of memory: the container's limit of 2048 MB was reached (peak 2047 MB), 1 process was killed by the kernel".
// Shared memory is named from a tenth of the limit on. `whose`: "the container's". "": there is no limit.
std::string DescribeOom(const MemoryOfCgroup& memory, const std::string& whose, int64_t kills);
// True where the cgroup's own limit was reached, and not that of a cgroup above it.
bool ReachedItsLimit(const MemoryOfCgroup& memory);

}  // namespace tony
