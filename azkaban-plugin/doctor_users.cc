// The users that steps run as under execute-as-user. They are judged by modes: nobody becomes them.
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "azkaban-plugin/doctor_parts.h"
#include "azkaban-plugin/plugin_folder.h"
#include "runtime/base/strings.h"
#include "runtime/os/file_system.h"
#include "runtime/os/users.h"
#include "runtime/records/user_home.h"

namespace tony::azkaban {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRefusedUsers = "root,azkaban";  // Azkaban's default

struct StepUser {
  User user;
  fs::path folder;
};

Result<std::optional<StepUser>> FindStepUser(const std::string& name) {
  TRY_ASSIGN(const auto found, FindUser(name));
  if (!found) return std::optional<StepUser>();
  TRY_ASSIGN(auto groups, GroupsOf(*found));
  return std::optional(StepUser{{found->uid, std::move(groups), false, name}, found->folder});
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
  const auto answer = FindStepUser(name);
  if (!answer.ok())
    return {
        FailCheck(title, answer.error().message, "is the directory service that knows this machine's users there?")};
  const auto& account = *answer;
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
