// A folder that is opened part by part, and each user who could put another one in its place. A path that is looked at
// and then opened by its name may lead somewhere else the second time.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <filesystem>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace tony {

// A part of a path that somebody beside root can exchange: the owner of the folder it is in, the owner of a link, the
// owner of an entry of a sticky folder such as /tmp, or everybody.
struct PathRisk {
  std::filesystem::path part;
  uid_t user = 0;
  bool is_everybodys = false;
};

struct WalkedPath {
  // Opened with O_PATH. Not valid where a part of the path is missing.
  UniqueFd folder;
  struct stat info {};  // of that folder
  std::vector<PathRisk> risks;

  // The first risk by somebody other than root and `user`, or null.
  const PathRisk* RiskBeside(uid_t user) const;
};

// An absolute path, links in it and at its end included. kNotPermitted: a part may not be looked at; kCannotWrite: a
// part is not a folder, or there are too many links. An owner without a name in this user namespace is not a risk,
// because root here may be that owner's equal: in a container the folders of the machine's root have such an owner.
Result<WalkedPath> WalkPath(const std::filesystem::path& path);

// True where this user namespace has a number for the user.
bool HasNumberHere(uid_t user);

}  // namespace tony
