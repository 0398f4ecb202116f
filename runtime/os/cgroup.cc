#include "runtime/os/cgroup.h"

#include <algorithm>
#include <fstream>
#include <vector>

#include "runtime/base/strings.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

// The paths of this process in the v1 hierarchy with the controller `memory`, and in the v2 hierarchy. Empty: the
// process is not in that hierarchy.
struct CgroupPaths {
  std::string v1_memory, v2;
};

CgroupPaths ReadCgroupPaths(const fs::path& root) {
  CgroupPaths paths;
  std::ifstream in(root / "proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {  // "4:memory:/user", "0::/user"
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    if (controllers == ",,") paths.v2 = line.substr(second + 1);
    if (controllers.find(",memory,") != std::string::npos) paths.v1_memory = line.substr(second + 1);
  }
  return paths;
}

// Returns the cgroup at `path`, or the one at `mount` if `path` is not visible. A container sees its own cgroup as the
// root of the mount, but may read in /proc the path that the host uses.
OwnCgroup At(CgroupVersion version, const fs::path& mount, const std::string& path) {
  const std::string below = path.substr(std::min(path.find_first_not_of('/'), path.size()));
  std::error_code error;
  // A path such as "/../x" is a cgroup outside of this process's cgroup namespace.
  const bool seen = !below.empty() && !below.starts_with("..") && fs::is_directory(mount / below, error);
  return {version, mount, seen ? mount / below : mount};
}

}  // namespace

std::string_view ToString(CgroupVersion version) { return version == CgroupVersion::kOne ? "v1" : "v2"; }

std::optional<OwnCgroup> OwnMemoryCgroup(const fs::path& root) {
  const auto mount = root / "sys/fs/cgroup";
  const CgroupPaths paths = ReadCgroupPaths(root);
  std::error_code error;
  // If v1 has the memory controller, v2 cannot have it.
  if (!paths.v1_memory.empty() && fs::is_directory(mount / "memory", error))
    return At(CgroupVersion::kOne, mount / "memory", paths.v1_memory);
  return OwnUnifiedCgroup(root);
}

std::optional<OwnCgroup> OwnUnifiedCgroup(const fs::path& root) {
  const auto mount = root / "sys/fs/cgroup";
  const CgroupPaths paths = ReadCgroupPaths(root);
  std::error_code error;
  if (paths.v2.empty() || !fs::is_directory(mount, error)) return std::nullopt;
  return At(CgroupVersion::kTwo, fs::is_directory(mount / "unified", error) ? mount / "unified" : mount, paths.v2);
}

namespace {

// Returns the number in the first line of a file; nullopt if the file is missing, or if the line is a word ("max").
std::optional<int64_t> OnlyNumber(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  return std::getline(in, line) ? ParseInt(Trim(line)) : std::nullopt;
}

bool Exists(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

}  // namespace

std::optional<int64_t> NumberIn(const fs::path& file, std::string_view name) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(name) && line.size() > name.size() && line[name.size()] == ' ')
      return ParseInt(Trim(std::string_view(line).substr(name.size())));
  }
  return std::nullopt;
}

std::optional<CgroupVersion> MemoryCgroupVersion(const fs::path& cgroup) {
  for (const char* file : {"memory.events", "memory.max"})
    if (Exists(cgroup / file)) return CgroupVersion::kTwo;
  for (const char* file : {"memory.oom_control", "memory.limit_in_bytes"})
    if (Exists(cgroup / file)) return CgroupVersion::kOne;
  return std::nullopt;
}

std::optional<int64_t> OomKillsIn(CgroupVersion version, const fs::path& cgroup) {
  if (version == CgroupVersion::kOne) return NumberIn(cgroup / "memory.oom_control", "oom_kill");
  const auto events = cgroup / "memory.events";
  return std::max(NumberIn(events, "oom_kill"), NumberIn(events, "oom_group_kill"));
}

MemoryOfCgroup MemoryOf(CgroupVersion version, const fs::path& cgroup) {
  // Version 1 expresses "no limit" as the largest multiple of a page.
  constexpr int64_t kNoLimit = int64_t{1} << 60;
  const bool one = version == CgroupVersion::kOne;
  const auto limit = OnlyNumber(cgroup / (one ? "memory.limit_in_bytes" : "memory.max"));
  const auto peak = OnlyNumber(cgroup / (one ? "memory.max_usage_in_bytes" : "memory.peak"));
  MemoryOfCgroup memory;
  if (limit && *limit < kNoLimit) memory.limit_mb = *limit >> 20;
  if (peak) memory.peak_mb = *peak >> 20;
  memory.shared_mb = NumberIn(cgroup / "memory.stat", one ? "total_shmem" : "shmem").value_or(0) >> 20;
  return memory;
}

bool ReachedItsLimit(const MemoryOfCgroup& memory) {
  return memory.limit_mb && (!memory.peak_mb || *memory.peak_mb >= *memory.limit_mb * 9 / 10);
}

std::string DescribeOom(const MemoryOfCgroup& memory, const std::string& whose, int64_t kills) {
  if (!memory.limit_mb) return "";
  const std::string limit = StrCat(whose, " limit of ", *memory.limit_mb, " MB");
  std::vector<std::string> use;
  if (memory.peak_mb) use.push_back(StrCat("peak ", *memory.peak_mb, " MB"));
  if (memory.shared_mb > 0 && memory.shared_mb >= *memory.limit_mb / 10)
    use.push_back(StrCat(memory.shared_mb, " MB in /dev/shm and other shared memory"));
  const std::string used = use.empty() ? "" : StrCat(" (", Join(use, ", "), ")");
  const std::string killed = StrCat(kills, kills == 1 ? " process was" : " processes were", " killed by the kernel");
  // If this limit was not reached, a cgroup above may have reached its own limit, by the memory of other processes.
  if (!ReachedItsLimit(memory)) return StrCat(kOutOfMemory, ", but not because of ", limit, used, ": ", killed);
  return StrCat(kOutOfMemory, ": ", limit, " was reached", used, ", ", killed);
}

}  // namespace tony
