// Azkaban's executor server as a doctor must see it: whose files it reads, from where, and what its children inherit.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/result.h"

namespace tony::azkaban {

// Whose rights are judged.
struct User {
  uid_t uid = 0;
  std::vector<gid_t> groups;
  bool is_anybody = false;  // a user of whom nothing is known
  std::string name;         // "azkaban", "every user"
};
User Anybody();

// What keeps `user` from `wanted` (R_OK, W_OK, X_OK) on `path`, by the modes of it and of the folders above it: "/x has
// mode 0700 and belongs to root". Nothing: nothing does.
std::optional<std::string> Obstacle(const std::filesystem::path& path, const User& user, int wanted);

// How a path looks to this process, which may run as another user than the one it judges for.
struct Sight {
  enum class Kind { kThere, kMissing, kHidden };
  Kind kind = Kind::kThere;
  std::string closed;  // kHidden: what keeps us from looking, "/x has mode 0700 and belongs to root"
};
Sight SightOf(const std::filesystem::path& path);

struct ExecutorServer {
  pid_t pid = 0;  // 0: none was named, and this process stands for it
  User user;
  std::filesystem::path folder;  // its working folder; empty: not to be seen by us
  std::vector<std::string> command_line;
  std::map<std::string, std::string> environment;
  bool environment_known = false;
  std::string cgroups;  // as /proc/PID/cgroup has them

  std::string Variable(const std::string& name) const;  // "" if there is none
  bool IsJava() const;
};

ExecutorServer ThisProcess();
// kNotFound: no such process. `proc` is /proc but in tests.
Result<ExecutorServer> ReadExecutorServer(pid_t pid, const std::filesystem::path& proc = "/proc");

// Where it looks for job types: azkaban.jobtype.plugin.dir of conf/azkaban.properties, else plugins/jobtypes; empty if
// its folder is not to be seen.
std::filesystem::path JobtypesOf(const ExecutorServer& server);

// For checks that look at this process: takes over what the server's children inherit, its limits, variables and, as
// root, its user. There is no way back.
void BecomeLike(const ExecutorServer& server, const std::map<std::string, std::string>& more_variables);

}  // namespace tony::azkaban
