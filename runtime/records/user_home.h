// The folder of one user's jobs, staged files and history. $TONY_HOME (or ~/.tony, if it is not set) names a folder. If
// that folder is the user's own, it is used; otherwise a folder of the user inside it is used. Therefore many users may
// share one $TONY_HOME.
//
//   the named folder                                      the folder that is used
//   missing, or the user's own                            the named folder itself
//   the user's own or another's, sticky, and writable by  <folder>/<uid>; the named folder itself if its jobs/ already
//     all or by a group (mode 1777)                         belongs to the user
//   another's, in any other way                           <folder>/<uid>, if somebody has made it for the user
//   another's, and the user is root                       the named folder itself: root works on that user's jobs with
//                                                           that user's rights (files_for_others.h)
//
// The name of the user's folder is the user id. It is not the user name, because a name service that is down for a
// moment must not hide a user's jobs: the next try of a workflow engine would start them twice.
//
// An entry of a shared folder is used only if it is a folder and no link, belongs to the user, and is not writable by
// others. Root and the owner of the shared folder can replace the entry, and are trusted.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "runtime/base/result.h"
#include "runtime/base/walk_path.h"

namespace tony {

// Returns the absolute path of the user's folder. In a shared folder, the user's folder is made if it is missing. If
// others can write to the user's folder, e.g. after a umask of 002, this right is removed and a warning is logged. The
// folder's programs/ is then removed, too, because others may have replaced the programs. kNotPermitted: the named
// folder is not for this user, another user owns the entry with this user's id in it, or the user's own folder contains
// entries of another user. The message names that user and the repair. kCannotWrite: a folder cannot be made. kUsage:
// no home is known.
Result<std::filesystem::path> TonyHome();

// Returns the folder that $TONY_HOME names, or ~/.tony if it is not set. kUsage: no home is known.
Result<std::filesystem::path> NamedHome();

struct UserHome {
  std::filesystem::path path;
  // True if the path is the user's folder inside the named folder.
  bool is_below = false;
  bool is_there = false;  // false: it is missing
  // True if only files of this user belong into the folder.
  bool is_alone = false;
  // True if others may replace the content of the folder, although only files of this user belong there.
  bool is_open = false;
};
// Finds the folder that TonyHome() would return for `user` and the folder `named`. Only checks, and changes nothing.
Result<UserHome> FindHome(const std::filesystem::path& named, uid_t user);

// Returns a name such as "alice", or "uid 1234" if the user has no name.
std::string UserText(uid_t user);
// Returns e.g. "/data/team, which alice can replace".
std::string RiskText(const PathRisk& risk);

}  // namespace tony
