// The folder of one user's jobs, staged files and history: the folder that $TONY_HOME (else ~/.tony) names, if it is
// the user's own, else a folder of the user inside it. Therefore many users may share one $TONY_HOME.
//
//   the named folder                                      the folder that is used
//   missing, or the user's own                            the named folder itself
//   the user's own or another's, sticky, and writable by  <folder>/<uid>; the named folder itself if its jobs/ is the
//     all or by a group (mode 1777)                         user's, as before each user had a folder
//   another's, in any other way                           <folder>/<uid>, if somebody has made it for the user
//   another's, and the user is root                       the named folder itself: root works on that user's jobs with
//                                                           that user's rights (files_for_others.h)
//
// The folder's name is a number, because a name service that is down for a moment must not hide a user's jobs: the next
// try of a workflow engine would start them twice.
//
// A folder inside a shared one is used only if it is a folder and not a link, belongs to the user, and is not writable
// by others. Root and the owner of the shared folder can replace it, and are trusted.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "runtime/base/result.h"
#include "runtime/base/walk_path.h"

namespace tony {

// Returns an absolute path, and makes the user's folder in a shared one. If the user's own folder is writable by
// others, as a umask of 002 makes it, that right is removed with a warning in the log, and its programs/ is removed,
// because others may have replaced the programs. kNotPermitted: the folder is not for this user, another user has taken
// the user's name in it, or has put something into it. The message says who did this, and how to repair it.
// kCannotWrite; kUsage: no home is known.
Result<std::filesystem::path> TonyHome();

// Returns the folder that $TONY_HOME or ~/.tony names. kUsage: no home is known.
Result<std::filesystem::path> NamedHome();

struct UserHome {
  std::filesystem::path path;
  // The path is the user's folder inside the named folder.
  bool is_below = false;
  bool is_there = false;  // false: must still be made
  // Only files of this user belong into the folder.
  bool is_alone = false;
  // Others may replace what is in the folder, although only files of this user belong there.
  bool is_open = false;
};
// Does the same as TonyHome(), for `user` and a named folder, but only checks and changes nothing.
Result<UserHome> FindHome(const std::filesystem::path& named, uid_t user);

// Returns a name such as "alice", or "uid 1234" if the user has no name.
std::string UserText(uid_t user);
// Returns "/data/team, which alice can exchange for something else".
std::string RiskText(const PathRisk& risk);

}  // namespace tony
