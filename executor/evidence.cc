#include "executor/evidence.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <string>

#include "executor/log_files.h"
#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"

namespace tony::executor {
namespace {

// The number behind `name` in a file of "name number" lines.
std::optional<int64_t> NumberIn(const std::filesystem::path& file, std::string_view name) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(name) && line.size() > name.size() && line[name.size()] == ' ') {
      return ParseInt(Trim(std::string_view(line).substr(name.size())));
    }
  }
  return std::nullopt;
}

// The path of this process below the mount of the v1 controller `memory`, or of v2.
struct CgroupPaths {
  std::string v1_memory, v2;
};
CgroupPaths ReadCgroupPaths(const std::filesystem::path& root) {
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
std::optional<int64_t> CountIn(const std::filesystem::path& mount, const std::string& path, const char* file) {
  const std::string below = path.substr(std::min(path.find_first_not_of('/'), path.size()));
  if (const auto count = NumberIn(mount / below / file, "oom_kill")) return count;
  return NumberIn(mount / file, "oom_kill");
}

std::optional<int64_t> CountInCgroup(const std::filesystem::path& root) {
  const auto mount = root / "sys/fs/cgroup";
  const CgroupPaths paths = ReadCgroupPaths(root);
  if (!paths.v1_memory.empty()) return CountIn(mount / "memory", paths.v1_memory, "memory.oom_control");
  return CountIn(mount, paths.v2, "memory.events");
}

bool Grew(const std::optional<int64_t>& before, const std::optional<int64_t>& after) {
  return before && after && *after > *before;
}

// The file's text; nothing: there is none. Never waits for a pipe, never follows a link.
Result<std::optional<std::string>> ReadErrorFile(const std::filesystem::path& file) {
  const auto fail = [](const std::string& why) { return Error{ErrorCode::kInvalid, "error file: " + why}; };
  const UniqueFd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  if (!fd.valid() && errno == ENOENT) return std::optional<std::string>();
  struct stat info {};
  if (!fd.valid() || fstat(fd.get(), &info) != 0) return fail(ErrnoText(errno));
  if (!S_ISREG(info.st_mode)) return fail("not a regular file");
  if (info.st_size > static_cast<off_t>(kLongestErrorFile)) {
    return fail(StrCat("larger than ", kLongestErrorFile >> 10, " KiB"));
  }
  std::string text(static_cast<size_t>(info.st_size), '\0');
  const ssize_t got = pread(fd.get(), text.data(), text.size(), 0);
  if (got < 0) return fail(ErrnoText(errno));
  text.resize(static_cast<size_t>(got));
  return std::optional(std::move(text));
}

Result<std::optional<ErrorReport>> ReadReport(const std::filesystem::path& file) {
  TRY_ASSIGN(const auto text, ReadErrorFile(file));
  if (!text) return std::optional<ErrorReport>();
  TRY_ASSIGN(ErrorReport report, ParseErrorReport(*text));
  report.message = LastLines(report.message);
  return std::optional(std::move(report));
}

}  // namespace

OomKills CountOomKills(const std::filesystem::path& root) {
  return {CountInCgroup(root), NumberIn(root / "proc/vmstat", "oom_kill")};
}

OomEvidence Compare(const OomKills& before, const OomKills& after) {
  if (Grew(before.cgroup, after.cgroup)) return OomEvidence::kCgroup;
  if (Grew(before.machine, after.machine)) return OomEvidence::kMachine;
  const bool watched = (before.cgroup && after.cgroup) || (before.machine && after.machine);
  return watched ? OomEvidence::kNone : OomEvidence::kUnknown;
}

void ForgetErrorFile(const std::filesystem::path& file) { unlink(file.c_str()); }

Evidence Gather(ExitStatus exit, const std::filesystem::path& error_file, const std::filesystem::path& stderr_file,
                const OomKills& before) {
  Evidence evidence{.exit = exit};
  if (exit.Succeeded()) return evidence;
  evidence.oom = Compare(before, CountOomKills());
  evidence.stderr_tail = StderrTail(stderr_file);
  auto report = ReadReport(error_file);
  if (report.ok()) {
    evidence.report = *std::move(report);
  } else {
    evidence.report_trouble = report.error().message;
  }
  return evidence;
}

}  // namespace tony::executor
