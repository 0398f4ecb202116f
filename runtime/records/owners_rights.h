// Root that looks after another user's home: what it does there it does with that user's rights. Whoever owns a folder
// can put links into it at any moment, and programs: root would write where they lead, and start those.
#pragma once

#include <optional>
#include <string>

#include "runtime/base/result.h"

namespace tony {

// Where this is root, and TonyHome()'s folder is there and another user's, the process becomes that user for the rest
// of its life: groups, gid, uid, none of which it can take back, and HOME, USER and LOGNAME; TONY_HOME goes on naming
// the folder. Before threads, and before anything in the home is opened. Answers the user's name, or nothing where all
// stays as it was. A user without a name in this user namespace owns nothing that root's rights reach: nothing, too.
// kCannotWrite: the home is not there and cannot be made, or its path leads to no folder. kNotPermitted: root may not
// become that user here, or somebody beside the two can lead the path of the home elsewhere between this look and a
// later one (base/walk_path.h).
Result<std::optional<std::string>> TakeOwnersRights();

// "root (uid 0)", if it has; else empty. What such a process writes can no longer be told from the user's own.
std::string WhoTookOwnersRights();

}  // namespace tony
