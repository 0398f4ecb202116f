#include "runtime/records/user_home.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/os/files.h"
#include "runtime/os/users.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kOthersMayWrite = S_IWGRP | S_IWOTH;

std::string Mode(const struct stat& info) {
  char text[16];
  std::snprintf(text, sizeof text, "%04o", info.st_mode & 07777U);
  return text;
}

std::string Described(const fs::path& path, const struct stat& info) {
  return StrCat(path.string(), " belongs to ", UserText(info.st_uid), " and has mode ", Mode(info));
}

Error Refusal(std::string message) { return NotPermittedError("home " + std::move(message)); }

bool IsShared(const struct stat& info) {
  return (info.st_mode & S_ISVTX) != 0 && (info.st_mode & kOthersMayWrite) != 0;
}

// Returns whether the folder contains jobs of the user. If so, the user's jobs stay in this folder, even if it is later
// opened to others.
bool HasJobsOf(const fs::path& folder, uid_t user) {
  struct stat info {};
  return lstat((folder / "jobs").c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == user;
}

// Refuses a folder that others can write and that has no sticky bit, because these others could replace the user's
// folder by another one.
Status CheckNamed(const fs::path& named, const struct stat& info) {
  if (!S_ISDIR(info.st_mode)) return FileError(ErrorCode::kCannotWrite, "use", named, ENOTDIR);
  if ((info.st_mode & kOthersMayWrite) != 0 && (info.st_mode & S_ISVTX) == 0)
    return Refusal(StrCat(Described(named, info),
                          ", so others could replace your folder in it; its owner or root must run: ", "chmod 1777 ",
                          named.string()));
  return Ok();
}

// Checks that an existing entry whose name is the user id belongs to the user alone.
Status CheckOwn(const fs::path& path, const struct stat& info, uid_t user) {
  const std::string mend = StrCat("; ", UserText(info.st_uid), info.st_uid == 0 ? "" : " or root", " must remove it");
  if (S_ISLNK(info.st_mode))
    return Refusal(StrCat(path.string(), " is a link that belongs to ", UserText(info.st_uid), mend));
  if (!S_ISDIR(info.st_mode))
    return Refusal(StrCat(path.string(), " is a file that belongs to ", UserText(info.st_uid), mend));
  if (info.st_uid != user)
    return Refusal(StrCat(Described(path, info), ", expected a folder of ", UserText(user), mend));
  if ((info.st_mode & kOthersMayWrite) != 0)
    return Refusal(StrCat(Described(path, info),
                          ": other users may have written into the folder; check its content, then run chmod 0700 ",
                          path.string()));
  return Ok();
}

Error CannotMake(const fs::path& path, const fs::path& named, uid_t user, int error) {
  struct stat info {};
  if ((error != EACCES && error != EPERM) || stat(named.c_str(), &info) != 0)
    return FileError(ErrorCode::kCannotWrite, "make", path, error);
  return Refusal(StrCat(Described(named, info), ", and ", UserText(user),
                        " has no folder there; its owner or root must run: ", "chmod 1777 ", named.string(),
                        "; or set TONY_HOME to a folder of your own"));
}

// Makes the user's folder. The entry is checked again afterwards, because another user may have taken the name since
// the first check.
Status MakeOwn(const fs::path& path, const fs::path& named) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return CannotMake(path, named, geteuid(), errno);
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return FileError(ErrorCode::kCannotWrite, "make", path, errno);
  TRY(CheckOwn(path, info, geteuid()));
  const bool is_private = (info.st_mode & 0777) == 0700;
  if (is_private || chmod(path.c_str(), 0700) == 0) return Ok();
  return FileError(ErrorCode::kCannotWrite, "make private", path, errno);
}

// Refuses a home that contains entries of other users. Programs of others are allowed, because TonY does not run those
// programs (staging/programs.h).
Status RefuseStrangers(const fs::path& home) {
  std::error_code error;
  for (fs::directory_iterator entry(home, error), end; !error && entry != end; entry.increment(error)) {
    struct stat info {};
    if (entry->path().filename() == "programs" || lstat(entry->path().c_str(), &info) != 0) continue;
    if (info.st_uid != geteuid() && info.st_uid != 0)
      return Refusal(StrCat(home.string(), " is yours, but it contains ", entry->path().string(), ", which belongs to ",
                            UserText(info.st_uid), ": remove this entry, or give it to ", UserText(geteuid())));
  }
  return Ok();
}

// Changes the mode through a descriptor, because a user with write access may replace anything in the folder.
Status CloseToOthers(const fs::path& home) {
  const UniqueFd fd(open(home.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat info {};
  if (!fd.valid() || fstat(fd.get(), &info) != 0) return FileError(ErrorCode::kCannotWrite, "check home", home, errno);
  if (info.st_uid != geteuid() || (info.st_mode & kOthersMayWrite) == 0) return Ok();
  if (fchmod(fd.get(), info.st_mode & 07777U & ~kOthersMayWrite) != 0)
    return FileError(ErrorCode::kCannotWrite, "make private", home, errno);
  LogWarn(StrCat("home ", Described(home, info),
                 ", so others could replace what is in it: their write access was removed, "
                 "and the programs of jobs will be installed again"));
  return RemoveTree(home / "programs");
}

}  // namespace

std::string UserText(uid_t user) {
  const auto found = FindUser(user);
  return found.ok() && *found ? (*found)->name : StrCat("uid ", user);
}

std::string RiskText(const PathRisk& risk) {
  return StrCat(risk.part.string(), ", which ", risk.is_everybodys ? "others" : UserText(risk.user), " can replace");
}

Result<fs::path> NamedHome() {
  const char* home = std::getenv("TONY_HOME");
  std::error_code error;
  if (home && *home) {
    const fs::path path = fs::absolute(ExpandTilde(home), error);
    if (error) return FileError(ErrorCode::kCannotWrite, "find", home, error.value());
    return path.lexically_normal();
  }
  const char* user_home = std::getenv("HOME");
  if (user_home && *user_home) return fs::path(user_home) / ".tony";
  TRY_ASSIGN(const auto user, FindUser(geteuid()));
  if (user && !user->folder.empty()) return fs::path(user->folder) / ".tony";
  return Error{ErrorCode::kUsage, "neither TONY_HOME nor HOME is set"};
}

Result<UserHome> FindHome(const fs::path& named, uid_t user) {
  struct stat info {};
  if (stat(named.c_str(), &info) != 0) {
    if (errno == EACCES) return FileError(ErrorCode::kNotPermitted, "check home", named, EACCES);
    // The path is returned as it is. A caller that writes there later gets the reason why it cannot.
    return UserHome{.path = named};
  }
  const bool is_own = info.st_uid == user || user == 0;
  const bool is_open = (info.st_mode & kOthersMayWrite) != 0;
  if (is_own && !IsShared(info)) return UserHome{.path = named, .is_there = true, .is_alone = true, .is_open = is_open};
  if (HasJobsOf(named, user)) return UserHome{.path = named, .is_there = true};
  TRY(CheckNamed(named, info));
  UserHome home = {.path = named / std::to_string(user), .is_below = true};
  struct stat own {};
  if (lstat(home.path.c_str(), &own) == 0) {
    TRY(CheckOwn(home.path, own, user));
    home.is_there = true;
  } else if (errno != ENOENT || !IsShared(info)) {
    return CannotMake(home.path, named, user, errno == ENOENT ? EACCES : errno);
  }
  return home;
}

Result<fs::path> TonyHome() {
  TRY_ASSIGN(const fs::path named, NamedHome());
  TRY_ASSIGN(const UserHome home, FindHome(named, geteuid()));
  if (home.is_below) TRY(MakeOwn(home.path, named));
  if (home.is_open) TRY(CloseToOthers(home.path));
  if (home.is_alone) TRY(RefuseStrangers(home.path));
  return home.path;
}

}  // namespace tony
