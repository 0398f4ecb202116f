#include "runtime/os/own_cgroup.h"

#include <algorithm>
#include <fstream>
#include <string>

#include "runtime/base/check.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

// The path of this process in the v1 hierarchy with the controller `memory`, and in v2. Empty: in none.
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

// A container sees its own cgroup as the mount's root, but may read the path that the machine knows it by.
OwnCgroup At(CgroupVersion version, const fs::path& mount, const std::string& path) {
  const std::string below = path.substr(std::min(path.find_first_not_of('/'), path.size()));
  std::error_code error;
  // "/../x" is a cgroup outside of our namespace.
  const bool seen = !below.empty() && !below.starts_with("..") && fs::is_directory(mount / below, error);
  return {version, mount, seen ? mount / below : mount};
}

}  // namespace

std::string_view ToString(CgroupVersion version) {
  switch (version) {
    case CgroupVersion::kOne:
      return "v1";
    case CgroupVersion::kTwo:
      return "v2";
  }
  CHECK(false);
}

std::optional<OwnCgroup> OwnMemoryCgroup(const fs::path& root) {
  const auto mount = root / "sys/fs/cgroup";
  const CgroupPaths paths = ReadCgroupPaths(root);
  std::error_code error;
  // Where v1 has the controller v2 cannot have it.
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

}  // namespace tony
