// Files in the home of another user. A process of root that works there takes that user's rights. The owner of a folder
// can put links and programs into the folder at any moment. With root's own rights, the process would write where the
// links lead, and would start those programs.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/result.h"

namespace tony {

// If this process is root, and the folder of TonyHome() exists and belongs to another user, the process permanently
// becomes that user: it changes its groups, gid and uid, and the variables HOME, USER and LOGNAME. TONY_HOME still
// names the folder. Call this before threads start, and before anything in the home is opened. Returns the user's name,
// or nullopt if nothing was changed. Nothing is changed if the owner has no number in this user namespace, because root
// has no rights over such files. kCannotWrite: the home is missing and cannot be made, or its path does not lead to a
// folder. kNotPermitted: root may not become that user here, or a third user can change where the path of the home
// leads between this check and a later one (base/walk_path.h).
Result<std::optional<std::string>> SwitchToHomeOwner();

// Makes this process of root permanently the other user, in the same way. $TONY_HOME stays as it is. Does nothing if this
// process is that user. kNotPermitted: this process is neither root nor that user, or the user does not exist.
Status BecomeUser(uid_t user);

// Returns "root (uid 0)" if this process was root and has taken the owner's rights, else an empty text. Files that such
// a process writes afterwards look like the owner's own files, so a kill request names root in its text.
std::string UserBeforeSwitch();

// Files that programs of other users read, for example the portal of the Java TonY. Interface, implemented by
// FilesOnThisMachine(), and for HDFS in records/hdfs/hdfs_checkpoint_folder.h.

inline constexpr int kFolderForOthers = 0770;  // modes of the Java TonY
inline constexpr int kFileForOthers = 0640;

// Thread-safe; each call waits for the file system. kCannotWrite: a write failed. kNotPermitted: on this machine, the
// folder of a file is a link, or belongs to another user, whom the message names. HDFS also returns kNotPermitted for
// its own checks, and kUnavailable.
class FilesForOthers {
 public:
  virtual ~FilesForOthers() = default;
  // Makes a folder with mode kFolderForOthers, and missing folders above it with the default mode.
  virtual Status MakeFolder(const std::string& path) const = 0;
  // Writes a file with mode kFileForOthers, completely or not at all.
  virtual Status Write(const std::string& path, std::string_view content) const = 0;
  virtual Status Remove(const std::string& path) const = 0;  // does nothing if already removed
};

const FilesForOthers& FilesOnThisMachine();

}  // namespace tony
