// Azkaban's executor server as the doctor sees it: the user whose rights it has, the place of its files, and the
// environment that its child processes inherit.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/result.h"

namespace tony::azkaban {

// The user whose rights are judged.
struct User {
  uid_t uid = 0;
  std::vector<gid_t> groups;
  // True for an arbitrary user, whose ids are not known.
  bool is_anybody = false;
  std::string name;  // e.g. "azkaban", "every user"
};
User Anybody();

// Returns the obstacle that denies `user` the access `wanted` (R_OK, W_OK, X_OK) to `path`, according to the modes of
// the path and of the folders above it: "/x has mode 0700 and belongs to root". Returns nullopt if the access is
// allowed.
std::optional<std::string> Obstacle(const std::filesystem::path& path, const User& user, int wanted);

// The visibility of a path for this process, which may run as a user other than the judged one.
struct PathVisibility {
  enum class Kind { kThere, kMissing, kHidden };
  Kind kind = Kind::kThere;
  // The obstacle if `kind` is kHidden, e.g. "/x has mode 0700 and belongs to root".
  std::string closed;
};
PathVisibility PathVisibilityOf(const std::filesystem::path& path);

struct ExecutorServer {
  // 0 if no server was named, so that this process is judged in its place.
  pid_t pid = 0;
  User user;
  std::filesystem::path folder;  // working folder; empty: not visible
  std::vector<std::string> command_line;
  std::map<std::string, std::string> environment;
  bool environment_known = false;
  std::string cgroups;  // content of /proc/PID/cgroup

  std::string Variable(const std::string& name) const;  // empty: not set
  bool IsJava() const;
};

ExecutorServer ThisProcess();
// Returns kNotFound if the process does not exist. `proc` differs from /proc only in tests.
Result<ExecutorServer> ReadExecutorServer(pid_t pid, const std::filesystem::path& proc = "/proc");

// Returns the server's folder of job types: azkaban.jobtype.plugin.dir of conf/azkaban.properties, or else
// plugins/jobtypes. Returns an empty path if the server's working folder is not visible.
std::filesystem::path JobtypesOf(const ExecutorServer& server);

// Makes this process similar to a child of the server, for checks that examine this process: takes over the server's
// limits, variables and, as root, its user. The change cannot be undone.
void BecomeLike(const ExecutorServer& server, const std::map<std::string, std::string>& more_variables);

}  // namespace tony::azkaban
