#include "runtime/store/owners_rights.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "runtime/base/other_user.h"
#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/base/users.h"
#include "runtime/store/user_home.h"

namespace tony {
namespace {

// Of the process, as the rights are.
std::string& Taker() {
  static std::string taker;
  return taker;
}

struct Owner {
  uid_t user = 0;
  gid_t group = 0;
  std::string name;           // empty: no user has this number
  std::string folder;         // its $HOME
  std::vector<gid_t> groups;  // all of them
};

// The folder's own owner where it is a link: what is used is what the link leads to.
Result<Owner> OwnerOf(const std::filesystem::path& home) {
  const UniqueFd fd(open(home.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat info {};
  if (!fd.valid() || fstat(fd.get(), &info) != 0) return Owner{};
  Owner owner = {.user = info.st_uid, .group = info.st_gid};
  if (owner.user == 0) return owner;
  TRY_ASSIGN(const auto user, FindUser(owner.user));
  if (!user) return owner;
  TRY_ASSIGN(owner.groups, GroupsOf(*user));
  owner.group = user->group;
  owner.name = user->name;
  owner.folder = user->folder;
  return owner;
}

// The uid is the last to go: without root's nothing else may be changed.
bool Become(const Owner& owner) {
  return setgroups(owner.groups.size(), owner.groups.data()) == 0 &&
         setresgid(owner.group, owner.group, owner.group) == 0 && setresuid(owner.user, owner.user, owner.user) == 0;
}

// A user namespace gives root no rights over the files of who has no name in it.
bool HasNumberHere(uid_t user) {
  std::FILE* const map = std::fopen("/proc/self/uid_map", "re");
  if (!map) return true;
  unsigned long inside = 0, outside = 0, count = 0;
  bool found = false;
  while (!found && std::fscanf(map, "%lu %lu %lu", &inside, &outside, &count) == 3)
    found = user >= inside && user - inside < count;
  (void)std::fclose(map);
  return found;
}

void LiveAs(const Owner& owner, const std::filesystem::path& named) {
  setenv("TONY_HOME", named.c_str(), 1);
  if (owner.name.empty()) return;
  setenv("HOME", owner.folder.c_str(), 1);
  setenv("USER", owner.name.c_str(), 1);
  setenv("LOGNAME", owner.name.c_str(), 1);
}

}  // namespace

Result<std::optional<std::string>> TakeOwnersRights() {
  if (geteuid() != 0) return std::optional<std::string>();
  TRY_ASSIGN(const std::filesystem::path named, NamedHome());
  TRY_ASSIGN(const UserHome home, FindHome(named, 0));
  TRY_ASSIGN(const Owner owner, OwnerOf(home.path));
  if (owner.user == 0 || !HasNumberHere(owner.user)) return std::optional<std::string>();
  const std::string name = UserText(owner.user);
  if (!Become(owner))
    return Error{ErrorCode::kNotPermitted, StrCat("home ", home.path.string(), " belongs to ", name,
                                                  ", whose rights root cannot take on here: ", ErrnoText(errno))};
  LiveAs(owner, named);
  Taker() = OtherUser(0);
  return std::optional(name);
}

std::string WhoTookOwnersRights() { return Taker(); }

}  // namespace tony
