#include "azkaban-plugin/executor_server.h"

#include <grp.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "azkaban-plugin/plugin_folder.h"
#include "runtime/base/strings.h"
#include "runtime/os/files.h"
#include "runtime/records/user_home.h"

namespace tony::azkaban {
namespace {

namespace fs = std::filesystem;

bool Has(const User& user, gid_t group) { return std::ranges::count(user.groups, group) > 0; }

// Returns true if the modes of a file allow the access, by the rules of the kernel. Access lists and capabilities are
// ignored.
bool May(const struct stat& status, const User& user, int wanted) {
  if (!user.is_anybody && user.uid == 0)
    return (wanted & X_OK) == 0 || S_ISDIR(status.st_mode) || (status.st_mode & 0111) != 0;
  int shift = 0;
  if (!user.is_anybody && Has(user, status.st_gid)) shift = 3;
  if (!user.is_anybody && user.uid == status.st_uid) shift = 6;
  return (static_cast<int>(status.st_mode >> shift) & wanted) == wanted;
}

std::optional<std::string> ObstacleAt(const fs::path& path, const User& user, int wanted) {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) return StrCat(path.string(), ": ", ErrnoText(errno));
  if (May(status, user, wanted)) return std::nullopt;
  char mode[8];
  std::snprintf(mode, sizeof mode, "%04o", status.st_mode & 07777U);
  return StrCat(path.string(), " has mode ", mode, " and belongs to ", UserText(status.st_uid));
}

std::vector<std::string> SplitAtNul(const std::string& text) {
  std::vector<std::string> parts = Split(text, '\0');
  if (!parts.empty() && parts.back().empty()) parts.pop_back();
  return parts;
}

void ReadEnvironment(const std::string& text, ExecutorServer& server) {
  for (const std::string& entry : SplitAtNul(text)) {
    const size_t equals = entry.find('=');
    if (equals != std::string::npos) server.environment[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  server.environment_known = true;
}

// Reads a user from /proc/PID/status: the effective ids in the lines "Uid:" and "Gid:", and all ids in the line
// "Groups:".
User ReadUser(const std::string& status) {
  User user;
  for (const std::string& line : Split(status, '\n')) {
    std::istringstream words(line);
    std::string name;
    int64_t real = 0, effective = 0;
    words >> name;
    if (name == "Uid:" && words >> real >> effective) user.uid = static_cast<uid_t>(effective);
    if (name == "Gid:" && words >> real >> effective) user.groups.push_back(static_cast<gid_t>(effective));
    if (name != "Groups:") continue;
    for (int64_t group = 0; words >> group;) user.groups.push_back(static_cast<gid_t>(group));
  }
  user.name = UserText(user.uid);
  return user;
}

// Returns false for a HOME that belongs to another user, because a step ignores it and uses its own user's home.
bool IsOwn(std::string_view name, const std::string& value, const User& user) {
  struct stat status = {};
  return name != "HOME" || (stat(value.c_str(), &status) == 0 && status.st_uid == user.uid);
}

}  // namespace

User Anybody() { return {0, {}, true, "every user"}; }

std::optional<std::string> Obstacle(const fs::path& path, const User& user, int wanted) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  if (error) return StrCat(path.string(), ": ", ErrnoText(error.value()));
  fs::path above;
  for (const fs::path& part : real.parent_path()) {
    above /= part;
    if (auto obstacle = ObstacleAt(above, user, X_OK)) return obstacle;
  }
  return ObstacleAt(real, user, wanted);
}

PathVisibility PathVisibilityOf(const fs::path& path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) == 0) return {};
  const int why = errno;
  if (why == ENOENT || why == ENOTDIR) return {PathVisibility::Kind::kMissing, ""};
  const User self = ThisProcess().user;
  fs::path above;
  for (const fs::path& part : path.parent_path()) {
    above /= part;
    if (auto closed = ObstacleAt(above, self, X_OK)) return {PathVisibility::Kind::kHidden, *std::move(closed)};
  }
  return {PathVisibility::Kind::kHidden, StrCat(path.string(), ": ", ErrnoText(why))};
}

std::string ExecutorServer::Variable(const std::string& name) const {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

bool ExecutorServer::IsJava() const {
  return !command_line.empty() && fs::path(command_line.front()).filename() == "java";
}

ExecutorServer ThisProcess() {
  const auto self = ReadExecutorServer(getpid());
  ExecutorServer server = self.ok() ? *self : ExecutorServer();
  server.pid = 0;
  return server;
}

Result<ExecutorServer> ReadExecutorServer(pid_t pid, const fs::path& proc) {
  const fs::path folder = proc / std::to_string(pid);
  const auto status = ReadFile(folder / "status");
  if (!status.ok())
    return Error{ErrorCode::kNotFound, StrCat("--executor ", pid,
                                              ": no such process; expected the id of the executor "
                                              "server, a Java program")};
  ExecutorServer server;
  server.pid = pid;
  server.user = ReadUser(*status);
  // read_symlink() fails if the process belongs to another user and this process does not run as root.
  std::error_code hidden;
  server.folder = fs::read_symlink(folder / "cwd", hidden);
  if (const auto words = ReadFile(folder / "cmdline"); words.ok()) server.command_line = SplitAtNul(*words);
  if (const auto text = ReadFile(folder / "environ"); text.ok()) ReadEnvironment(*text, server);
  if (const auto text = ReadFile(folder / "cgroup"); text.ok()) server.cgroups = *text;
  return server;
}

fs::path JobtypesOf(const ExecutorServer& server) {
  constexpr std::string_view kUsual = "plugins/jobtypes";
  if (server.folder.empty()) return {};
  // Azkaban's start scripts pass the folder of the configuration with -conf; the default is `conf`.
  const auto& words = server.command_line;
  const auto option = std::ranges::find(words, "-conf");
  const bool is_named = option != words.end() && option + 1 != words.end();
  const fs::path file = server.folder / (is_named ? *(option + 1) : std::string("conf")) / "azkaban.properties";
  const auto text = ReadFile(file);
  if (!text.ok()) return server.folder / kUsual;
  const auto conf = ParseServerProperties(*text, file.string());
  const Property* named = conf.ok() ? conf->Find("azkaban.jobtype.plugin.dir") : nullptr;
  const bool usable = named != nullptr && !named->value.empty() && named->value.find("${") == std::string::npos;
  return server.folder / (usable ? fs::path(named->value) : fs::path(kUsual));
}

void BecomeLike(const ExecutorServer& server, const std::map<std::string, std::string>& more_variables) {
  if (server.pid != 0) {
    for (const auto resource : {RLIMIT_NOFILE, RLIMIT_NPROC}) {
      rlimit limit = {};
      if (prlimit(server.pid, resource, nullptr, &limit) == 0) (void)setrlimit(resource, &limit);
    }
    for (const char* name : {"HOME", "TONY_HOME", "TONY_LEDGER", "TONY_CONF_DIR"}) {
      if (!server.environment_known) break;
      unsetenv(name);
      const std::string value = server.Variable(name);
      if (!value.empty() && IsOwn(name, value, server.user)) setenv(name, value.c_str(), 1);
    }
  }
  for (const auto& [name, value] : more_variables) setenv(name.c_str(), value.c_str(), 1);
  if (server.pid == 0 || geteuid() != 0 || server.user.groups.empty()) return;
  const gid_t group = server.user.groups.front();
  (void)setgroups(server.user.groups.size(), server.user.groups.data());
  if (setresgid(group, group, group) == 0) (void)setresuid(server.user.uid, server.user.uid, server.user.uid);
}

}  // namespace tony::azkaban
