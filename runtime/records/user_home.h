// Where one user's jobs, staged files and history are: the folder of $TONY_HOME, else of ~/.tony, if it is the user's
// own, else a folder of the user's in it. So many users may have one $TONY_HOME.
//
//   the named folder                                          what is used
//   not there yet, or the user's own                          itself
//   the user's own or another's, sticky and writable by all   <folder>/<uid>; itself where its jobs/ is the user's: as
//   it
//     or by a group (mode 1777)                               was before there were folders for each
//   another's, anything else                                  <folder>/<uid>, if somebody has made it for the user
//   another's, and the user is root                           itself: root looks at that user's jobs, with that
//                                                             user's rights (files_for_others.h)
//
// A number, since a name service that is down for a moment must not hide a user's jobs: a workflow engine's next try
// would start them twice.
//
// A folder below a shared one is used only if it is a folder, no link, the user's, and not writable by others. The
// owner of the shared folder itself and root can exchange it, and are trusted.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "runtime/base/result.h"
#include "runtime/base/walk_path.h"

namespace tony {

// Absolute; makes the user's folder in a shared one. A folder of the user's own that others may write, as a umask of
// 002 makes it, is closed to them with a warning in the log, and its programs/ goes, because somebody may have
// exchanged them. kNotPermitted: the folder is not for this user, somebody else has taken the user's name in it, or has
// put something into it; the message says who and what mends it. kCannotWrite; kUsage: no home is known.
Result<std::filesystem::path> TonyHome();

// What $TONY_HOME or ~/.tony names. kUsage: nothing does.
Result<std::filesystem::path> NamedHome();

struct UserHome {
  std::filesystem::path path;
  bool is_below = false;  // a folder of the user's in the named one
  bool is_there = false;  // or still to be made
  bool is_alone = false;  // nobody else's things belong into it
  bool is_open = false;   // and yet others may exchange what is in it
};
// As TonyHome(), for `user` and a named folder, but only looks.
Result<UserHome> FindHome(const std::filesystem::path& named, uid_t user);

// "alice", else "uid 1234".
std::string UserText(uid_t user);
// "/data/team, which alice can exchange for something else"
std::string RiskText(const PathRisk& risk);

}  // namespace tony
