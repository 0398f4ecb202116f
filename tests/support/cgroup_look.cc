#include "tests/support/cgroup_look.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace tony {
namespace {

namespace fs = std::filesystem;

// Returns the mount point of the hierarchy with this controller, or of cgroup v2 if `controller` is empty. proc(5) has
// the formats.
fs::path MountOf(const std::string& controller) {
  std::ifstream mounts("/proc/self/mounts");
  for (std::string line; std::getline(mounts, line);) {
    std::string device, place, type, options;
    std::istringstream(line) >> device >> place >> type >> options;
    const bool has_it = ("," + options + ",").find("," + controller + ",") != std::string::npos;
    if (controller.empty() ? type == "cgroup2" : type == "cgroup" && has_it) return place;
  }
  return {};
}

std::string OwnPath(const std::string& controller) {
  std::ifstream own("/proc/self/cgroup");
  for (std::string line; std::getline(own, line);) {
    std::string number, controllers, path;
    std::istringstream words(line);
    std::getline(std::getline(std::getline(words, number, ':'), controllers, ':'), path);
    if (controllers == controller) return path;
  }
  return "/";
}

// Returns whether a process can enter a new cgroup in `folder`, and the cgroup has `file`.
bool CanMakeOne(const fs::path& folder, const char* file) {
  const fs::path trial = folder / ("tony-look-" + std::to_string(gettid()));
  if (mkdir(trial.c_str(), 0755) != 0) return false;
  const std::string procs = trial / "cgroup.procs", needed = trial / file;
  const pid_t pid = fork();
  // The parent has threads: the child makes system calls only.
  if (pid == 0) {
    const int fd = open(procs.c_str(), O_WRONLY | O_CLOEXEC);
    _exit(access(needed.c_str(), W_OK) == 0 && write(fd, "0", 1) == 1 ? 0 : 1);
  }
  int status = -1;
  waitpid(pid, &status, 0);
  rmdir(trial.c_str());
  return status == 0;
}

bool CanMakeOneAbove(const fs::path& mount, fs::path folder, const char* file) {
  while (!CanMakeOne(folder, file)) {
    if (folder == mount || folder == folder.root_path()) return false;
    folder = folder.parent_path();
  }
  return true;
}

fs::path OwnFolder(const fs::path& mount, const std::string& controller) {
  const fs::path own = mount / fs::path(OwnPath(controller)).relative_path();
  // A container sees its own cgroup as the mount.
  std::error_code error;
  return fs::is_directory(own, error) && own != mount / "" ? own : mount;
}

}  // namespace

CgroupLook LookForCgroups() {
  CgroupLook look;
  const fs::path one = MountOf("memory"), two = MountOf("");
  if (!two.empty()) look.unified = CanMakeOneAbove(two, OwnFolder(two, ""), "cgroup.procs");
  // If v1 has the controller, v2 cannot have it.
  if (!one.empty() && CanMakeOne(OwnFolder(one, "memory"), "memory.limit_in_bytes")) look.limits = "v1";
  if (one.empty() && !two.empty() && CanMakeOneAbove(two, OwnFolder(two, ""), "memory.max")) look.limits = "v2";
  return look;
}

}  // namespace tony
