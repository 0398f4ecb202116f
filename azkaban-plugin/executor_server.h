// Azkaban's executor server, as the doctor needs it: the user that it runs as, the place of its files, and the
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

// A user whose access rights are checked.
struct User {
  uid_t uid = 0;
  std::vector<gid_t> groups;
  // True for an arbitrary user, whose ids are not known.
  bool is_anybody = false;
  std::string name;  // e.g. "azkaban", "every user"
};
User Anybody();

// Returns what denies `user` the access `wanted` (R_OK, W_OK, X_OK) to `path`, e.g. "/x has mode 0700 and belongs to
// root". Returns nullopt if the access is allowed. Only the modes of the path and of the folders above it count.
std::optional<std::string> Obstacle(const std::filesystem::path& path, const User& user, int wanted);

// The visibility of a path for this process, which may run as another user than the user whose rights are checked.
struct PathVisibility {
  enum class Kind { kThere, kMissing, kHidden };
  Kind kind = Kind::kThere;
  // If `kind` is kHidden, the reason, e.g. "/x has mode 0700 and belongs to root".
  std::string closed;
};
PathVisibility PathVisibilityOf(const std::filesystem::path& path);

struct ExecutorServer {
  // The process id. If no server was named, the id is 0, and the checks examine this process in place of the server.
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

// Makes this process similar to a child of the server, for checks that examine this process. This process gets the
// server's limits and variables. If it runs as root, it also gets the server's user. The change cannot be undone.
void BecomeLike(const ExecutorServer& server, const std::map<std::string, std::string>& more_variables);

}  // namespace tony::azkaban
