// The cgroup that counts and limits the memory of this process, where the kernel has one. Linux only.
#pragma once

#include <filesystem>
#include <optional>
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

}  // namespace tony
