#include "runtime/records/files_for_others.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/base/walk_path.h"
#include "runtime/os/files.h"
#include "runtime/os/users.h"
#include "runtime/records/user_home.h"

namespace tony {
namespace {

// The user that this process was before the switch. The variable belongs to the whole process, as user and group ids
// do.
std::string& Taker() {
  static std::string taker;
  return taker;
}

struct Owner {
  uid_t user = 0;
  gid_t group = 0;
  std::string name;           // empty: the uid has no name
  std::string folder;         // the user's $HOME
  std::vector<gid_t> groups;  // all groups of the user
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

// Fails if another user can change where the path leads, because the path is opened again by its name later. Only root
// and `user`, whose rights the process takes, are trusted.
Status CheckPath(const std::filesystem::path& home, const WalkedPath& walked, uid_t user) {
  const PathRisk* const risk = walked.RiskFromOthers(user);
  if (!risk) return Ok();
  const std::string rights = user == 0 ? "root" : StrCat(UserText(user), " and root");
  return NotPermittedError("home ", home.string(), " is reached through ", RiskText(*risk),
                           "; set TONY_HOME to a folder whose path can be changed only by ", rights);
}

// The uid is changed last, because nothing else may be changed without root's uid.
bool TakeRightsOf(const Owner& owner) {
  return setgroups(owner.groups.size(), owner.groups.data()) == 0 &&
         setresgid(owner.group, owner.group, owner.group) == 0 && setresuid(owner.user, owner.user, owner.user) == 0;
}

void LiveAs(const Owner& owner) {
  if (owner.name.empty()) return;
  setenv("HOME", owner.folder.c_str(), 1);
  setenv("USER", owner.name.c_str(), 1);
  setenv("LOGNAME", owner.name.c_str(), 1);
}

}  // namespace

Result<std::optional<std::string>> SwitchToHomeOwner() {
  if (geteuid() != 0) return std::optional<std::string>();
  TRY_ASSIGN(const std::filesystem::path named, NamedHome());
  TRY_ASSIGN(const UserHome home, FindHome(named, 0));
  TRY_ASSIGN(WalkedPath walked, WalkPath(home.path));
  // If the home is missing and another user could make it first, root makes it now.
  if (!walked.folder.valid() && walked.RiskFromOthers(0)) {
    TRY(MakeFolder(home.path));
    TRY_ASSIGN(walked, WalkPath(home.path));
  }
  Owner owner;
  // In a user namespace, root has no rights over the files of an owner who has no number there.
  if (walked.folder.valid() && HasNumberHere(walked.info.st_uid)) {
    TRY_ASSIGN(owner, OwnerOf(walked.info));
  }
  TRY(CheckPath(home.path, walked, owner.user));
  if (owner.user == 0) return std::optional<std::string>();
  const std::string name = UserText(owner.user);
  if (!TakeRightsOf(owner))
    return NotPermittedError("home ", home.path.string(), " belongs to ", name,
                             ", and root cannot become that user here: ", ErrnoText(errno));
  setenv("TONY_HOME", named.c_str(), 1);
  LiveAs(owner);
  Taker() = OtherUser(0);
  return std::optional(name);
}

Status BecomeUser(uid_t user) {
  if (geteuid() == user) return Ok();
  TRY_ASSIGN(const auto found, FindUser(user));
  if (!found) return NotPermittedError("this machine has no user with the number ", user);
  TRY_ASSIGN(const std::vector<gid_t> groups, GroupsOf(*found));
  const Owner owner{found->uid, found->group, found->name, found->folder, groups};
  if (!TakeRightsOf(owner)) return NotPermittedError("cannot become ", UserText(user), ": ", ErrnoText(errno));
  LiveAs(owner);
  return Ok();
}

std::string UserBeforeSwitch() { return Taker(); }

namespace {

namespace fs = std::filesystem;

struct Folder {
  UniqueFd fd;
  uid_t owner = 0;
};

Error Refusal(const fs::path& path, std::string_view what, uid_t owner) {
  return NotPermittedError(path.string(), what, UserText(owner), ", expected a folder of ", UserText(geteuid()),
                           ", so TonY writes nothing there; ", UserText(owner), owner == 0 ? "" : " or root",
                           " must remove it");
}

// Links are not followed, because any user may have made one in a shared folder.
Result<Folder> OpenFolder(const fs::path& path) {
  UniqueFd fd(open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat info = {};
  if (!fd.valid() || fstat(fd.get(), &info) != 0) return FileError(ErrorCode::kCannotWrite, "open", path, errno);
  if (!S_ISDIR(info.st_mode))
    return Refusal(path, S_ISLNK(info.st_mode) ? " is a link that belongs to " : " is a file that belongs to ",
                   info.st_uid);
  return Folder{std::move(fd), info.st_uid};
}

// The new file's owner is compared with the folder's owner and not with this process's user id, because network file
// systems may map users.
Status WriteInto(const Folder& folder, const std::string& temporary, const fs::path& path, std::string_view content) {
  const UniqueFd fd(
      openat(folder.fd.get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  struct stat made = {};
  if (!fd.valid() && errno == EACCES && folder.owner != geteuid())
    return Refusal(path.parent_path(), " belongs to ", folder.owner);
  if (!fd.valid() || fstat(fd.get(), &made) != 0) return FileError(ErrorCode::kCannotWrite, "make", path, errno);
  if (made.st_uid != folder.owner) return Refusal(path.parent_path(), " belongs to ", folder.owner);
  TRY(WriteAll(fd.get(), content, path));
  if (fchmod(fd.get(), kFileForOthers) == 0 &&
      renameat(folder.fd.get(), temporary.c_str(), folder.fd.get(), path.filename().c_str()) == 0)
    return Ok();
  return FileError(ErrorCode::kCannotWrite, "make", path, errno);
}

class LocalFiles : public FilesForOthers {
 public:
  // The temporary name does not contain the file's name, because the readers of the Java TonY treat each file with
  // "jhist" in its name as a history.
  Status Write(const std::string& text, std::string_view content) const override {
    const fs::path path = text;
    TRY_ASSIGN(const Folder folder, OpenFolder(path.parent_path()));
    const std::string temporary = StrCat(".new-", RandomHex(6));
    const Status written = WriteInto(folder, temporary, path, content);
    if (!written.ok()) unlinkat(folder.fd.get(), temporary.c_str(), 0);
    return written;
  }

  Status Remove(const std::string& text) const override {
    const fs::path path = text;
    TRY_ASSIGN(const Folder folder, OpenFolder(path.parent_path()));
    if (unlinkat(folder.fd.get(), path.filename().c_str(), 0) == 0 || errno == ENOENT) return Ok();
    return FileError(ErrorCode::kCannotWrite, "remove", path, errno);
  }

  // An existing folder is not checked here, because Write() checks it when it writes a file into it.
  Status MakeFolder(const std::string& text) const override {
    const fs::path path = text;
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    if (error) return FileError(ErrorCode::kCannotWrite, "make", path.parent_path(), error.value());
    if (mkdir(path.c_str(), kFolderForOthers) != 0)
      return errno == EEXIST ? Ok() : FileError(ErrorCode::kCannotWrite, "make", path, errno);
    // Sets the mode again, because the umask has removed bits. The set-group-id bit, which the folder above passes on,
    // is kept.
    const UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat made = {};
    if (!fd.valid() || fstat(fd.get(), &made) != 0 ||
        fchmod(fd.get(), (made.st_mode & S_ISGID) | kFolderForOthers) != 0)
      return FileError(ErrorCode::kCannotWrite, "open", path, errno);
    return Ok();
  }
};

}  // namespace

const FilesForOthers& FilesOnThisMachine() {
  static const LocalFiles files;
  return files;
}

}  // namespace tony
