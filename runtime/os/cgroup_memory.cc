#include "runtime/os/cgroup_memory.h"

#include <algorithm>
#include <fstream>
#include <vector>

#include "runtime/base/strings.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

// The only line of a file. Nothing: there is none, or it is a word ("max").
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

std::optional<CgroupVersion> CountsMemory(const fs::path& cgroup) {
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
  // Version 1 says "no limit" by the largest multiple of a page.
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
  // A cgroup above has a limit, too, which others may have reached.
  if (!ReachedItsLimit(memory)) return StrCat(kOutOfMemory, ", but not by ", limit, used, ": ", killed);
  return StrCat(kOutOfMemory, ": ", limit, " was reached", used, ", ", killed);
}

}  // namespace tony
