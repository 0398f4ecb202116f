// The users that steps run as under execute-as-user. They are judged by modes: nobody becomes them.
#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "azkaban-plugin/doctor_parts.h"
#include "azkaban-plugin/plugin_folder.h"
#include "runtime/base/strings.h"
#include "runtime/store/file_system.h"
#include "runtime/store/user_home.h"

namespace tony::azkaban {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRefusedUsers = "root,azkaban";  // Azkaban's default
constexpr int kMostGroups = 65536;                     // Linux has no more

struct UnixUser {
  User user;
  fs::path folder;
};

std::optional<UnixUser> FindUser(const std::string& name) {
  const passwd* found = getpwnam(name.c_str());
  if (found == nullptr) return std::nullopt;
  UnixUser account{{found->pw_uid, {}, false, name}, found->pw_dir};
  int count = kMostGroups;
  account.user.groups.resize(static_cast<size_t>(count));
  if (getgrouplist(name.c_str(), found->pw_gid, account.user.groups.data(), &count) < 0) count = 0;
  account.user.groups.resize(static_cast<size_t>(count));
  return account;
}

bool IsRefused(const std::string& name, const PluginFiles& files) {
  const auto names = Split(files.ServerValue("azkaban.server.blacklist.users", kRefusedUsers), ',');
  return std::ranges::find(names, name) != names.end();
}

// Root and the user can try whether it may be written; root not on another machine's disk.
bool CanTry(const fs::path& home, const User& user) {
  const auto system = FileSystemOf(home);
  return geteuid() == user.uid || (geteuid() == 0 && system.ok() && !system->network);
}

}  // namespace

Checks CheckStepUser(const std::string& name, const PluginFiles& files, const fs::path& home_of_all) {
  const std::string title = StrCat("user ", name);
  if (IsRefused(name, files))
    return {FailCheck(title, "Azkaban runs no step as this user (azkaban.server.blacklist.users)", "")};
  const auto account = FindUser(name);
  if (!account)
    return {FailCheck(title, "no such user on this machine: every step of this user fails",
                      "give the user an account here, or let the flow set user.to.proxy to one that has")};
  const fs::path named = home_of_all.empty() ? account->folder / ".tony" : home_of_all;
  const Sight sight = SightOf(named);
  if (sight.kind == Sight::Kind::kHidden) return {HiddenCheck(title, named, sight, account->user)};
  const auto home = FindHome(named, account->user.uid);
  if (!home.ok()) return {FailCheck(title, home.error().message, "")};
  const fs::path there = NearestExisting(home->path);
  if (const auto obstacle = Obstacle(there, account->user, W_OK | X_OK))
    return {FailCheck(
        title, StrCat("cannot have jobs in ", home->path.string(), ": ", *obstacle),
        home_of_all.empty()
            ? StrCat("as root: install -d -m 0700 -o ", name, " ", account->folder.string(),
                     "; or name one folder for the jobs of all users as env.TONY_HOME in ", kPluginFile)
            : StrCat("as root: install -d -m 1777 ", home_of_all.string(), ", and mode 0755 for the folders above"))};
  Check check = CanTry(there, account->user) ? CheckHomeDisk(home->path, StrCat(", of ", name))
                                             : OkCheck(title, home->path.string());
  check.name = title;
  return {check};
}

}  // namespace tony::azkaban
