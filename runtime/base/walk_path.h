// Opens a folder part by part, and finds each user who could replace the folder by another one. The caller gets the
// open folder. If the caller opened the path by its name after the check, the path might lead to another folder than
// the checked one.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <filesystem>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace tony {

// A part of a path that a user other than root can replace. The user may be the owner of the folder that contains the
// part, the owner of a link, or the owner of an entry in a sticky folder such as /tmp. In a folder that everybody may
// write, every user can replace the part.
struct PathRisk {
  std::filesystem::path part;
  uid_t user = 0;
  bool is_everybodys = false;
};

struct WalkedPath {
  // The folder, opened with O_PATH. Invalid if a part of the path is missing.
  UniqueFd folder;
  struct stat info {};  // stat of `folder`
  std::vector<PathRisk> risks;

  // Returns the first of `risks` in which the part can be replaced by a user other than root and `user`; null if no
  // other user can replace a part.
  const PathRisk* RiskFromOthers(uid_t user) const;
};

// Walks along an absolute path. Links are followed, also at the end of the path. kNotPermitted: access to a part is
// denied. kCannotWrite: a part is not a folder, or the path has too many links.
// An owner without a number in this user namespace is trusted: in a container, the folders of the machine's root have
// such an owner.
Result<WalkedPath> WalkPath(const std::filesystem::path& path);

// Returns whether this user namespace has a number for the user.
bool HasNumberHere(uid_t user);

}  // namespace tony
