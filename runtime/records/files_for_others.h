// Root that looks after another user's home: what it does there it does with that user's rights. Whoever owns a folder
// can put links into it at any moment, and programs: root would write where they lead, and start those.
#pragma once

#include <optional>
#include <string>
#include <string_view>

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

// Files that programs of other users read, as TonY's portal does. Seam: FilesOnThisMachine(), and HDFS
// (records/hdfs/hdfs_checkpoint_folder.h).

inline constexpr int kFolderForOthers = 0770;  // as TonY's
inline constexpr int kFileForOthers = 0640;

// Any thread; each call waits for the file system. kCannotWrite. kNotPermitted: on this machine the folder of a file is
// a link or belongs to another user, whom the message names. HDFS also answers kNotPermitted and kUnavailable.
class FilesForOthers {
 public:
  virtual ~FilesForOthers() = default;
  virtual Status MakeFolder(const std::string& path) const = 0;  // kFolderForOthers; those above it as usual
  virtual Status Write(const std::string& path,
                       std::string_view content) const = 0;  // kFileForOthers, whole or not at all
  virtual Status Remove(const std::string& path) const = 0;  // harmless if it is gone
};

const FilesForOthers& FilesOnThisMachine();

}  // namespace tony
