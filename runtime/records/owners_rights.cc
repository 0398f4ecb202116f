#include "runtime/records/owners_rights.h"

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/base/walk_path.h"
#include "runtime/os/files.h"
#include "runtime/os/users.h"
#include "runtime/records/user_home.h"

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

Result<Owner> OwnerOf(const struct stat& home) {
  Owner owner = {.user = home.st_uid, .group = home.st_gid};
  if (owner.user == 0) return owner;
  TRY_ASSIGN(const auto user, FindUser(owner.user));
  if (!user) return owner;
  TRY_ASSIGN(owner.groups, GroupsOf(*user));
  owner.group = user->group;
  owner.name = user->name;
  owner.folder = user->folder;
  return owner;
}

// The path is opened again by its name, so nobody else may be able to lead it elsewhere: with root's rights only root,
// and with a user's rights that user as well.
Status CheckPath(const std::filesystem::path& home, const WalkedPath& walked, uid_t user) {
  const PathRisk* const risk = walked.RiskBeside(user);
  if (!risk) return Ok();
  const std::string rights = user == 0 ? "root" : StrCat(UserText(user), " and root");
  return Error{ErrorCode::kNotPermitted, StrCat("home ", home.string(), " is reached through ", RiskText(*risk),
                                                "; let TONY_HOME name a folder whose whole path belongs to ", rights)};
}

// The uid is the last to go: without root's nothing else may be changed.
bool Become(const Owner& owner) {
  return setgroups(owner.groups.size(), owner.groups.data()) == 0 &&
         setresgid(owner.group, owner.group, owner.group) == 0 && setresuid(owner.user, owner.user, owner.user) == 0;
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
  TRY_ASSIGN(WalkedPath walked, WalkPath(home.path));
  // A home that somebody else could make first is made now.
  if (!walked.folder.valid() && walked.RiskBeside(0)) {
    TRY(MakeFolder(home.path));
    TRY_ASSIGN(walked, WalkPath(home.path));
  }
  Owner owner;
  // A user namespace gives root no rights over the files of an owner who has no number in it.
  if (walked.folder.valid() && HasNumberHere(walked.info.st_uid)) {
    TRY_ASSIGN(owner, OwnerOf(walked.info));
  }
  TRY(CheckPath(home.path, walked, owner.user));
  if (owner.user == 0) return std::optional<std::string>();
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
