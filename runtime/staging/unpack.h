// Writes a new tree of files that will be read-only, and nothing outside of it, whatever the names are.
#pragma once

#include <time.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "runtime/staging/stage.h"

namespace tony {

// Names are paths from the tree's folder: "a/b", without "..". No component of a path is ever reached through a
// symbolic link. Of two files or links with one name the last counts, as for `tar` and `unzip`. A folder is never
// replaced. Folders above a name are made where they are missing.
//
// kInvalid: the name cannot be, or its place is taken; kCannotWrite: the disk. A failure leaves a part.
class TreeWriter {
 public:
  static Result<TreeWriter> Make(const std::filesystem::path& folder);  // there must be none

  Status MakeFolder(const std::string& name, const timespec& modified);  // harmless if it is there
  Result<UniqueFd> MakeFile(const std::string& name);                    // readable too
  Status FinishFile(int fd, const std::string& name, bool executable, const timespec& modified);
  Status MakeSymlink(const std::string& name, const std::string& target, const timespec& modified);
  Status MakeHardLink(const std::string& name, const std::string& existing);  // a file of this tree
  Status Seal();                                                              // folders become read-only

  std::filesystem::path PathOf(const std::string& name) const { return folder_ / name; }

 private:
  struct Place {
    int parent;  // borrowed
    std::string leaf;

    // Calls `make` again where a file or a link stood in its place.
    template <class Maker>
    bool Put(Maker make) const;
  };
  TreeWriter(std::filesystem::path folder, UniqueFd root) : folder_(std::move(folder)), root_(std::move(root)) {}
  Result<Place> Find(const std::string& name);
  // `name`: of what is to be made in the end, for messages.
  Result<UniqueFd> Walk(const std::string& folder, const std::string& name);
  Result<UniqueFd> Step(int parent, const std::string& folder, const std::string& name);

  std::filesystem::path folder_;
  UniqueFd root_;
  // Of the name before: most often the next one lies there too.
  std::string last_folder_;
  UniqueFd last_;
  std::vector<std::string> folders_;                      // as they were made
  std::vector<std::pair<std::string, timespec>> stamps_;  // of folders
};

// Unpacks an archive of unknown origin into a new tree.

// All that is in the archive `fd` into `tree`. Refused with the entry's name (kInvalid): absolute names and those with
// "..", names through links, names twice, names that are not UTF-8 or too long, devices, pipes and sockets, hard links
// to anything but an earlier file of the archive, encrypted entries; and whole archives that are cut off, damaged, or
// beyond the limits. Setuid and setgid bits are dropped; symbolic links are kept wherever they point, and never
// followed. A failure leaves a part in `tree`, and nothing elsewhere.
Status Unpack(int fd, TreeWriter& tree, const UnpackLimits& limits, SpaceGuard& space, StageMeter& meter);

}  // namespace tony
