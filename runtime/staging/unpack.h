// Writes a new tree of files, which becomes read-only. No name can lead to a place outside of the tree.
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

// Names are paths relative to the tree's folder: "a/b", without "..". No component of a path is ever reached through a
// symbolic link. If two files or links have one name, the later one replaces the earlier one, as with `tar` and
// `unzip`. A folder is never replaced. Missing folders above a name are created.
//
// kInvalid: the name is not allowed, or something else has its place. kCannotWrite: writing to the disk failed. A
// failure leaves a partial tree.
class TreeWriter {
 public:
  static Result<TreeWriter> Make(const std::filesystem::path& folder);  // `folder` must not exist yet

  Status MakeFolder(const std::string& name, const timespec& modified);  // allowed if the folder exists already
  Result<UniqueFd> MakeFile(const std::string& name);                    // opened for reading and writing
  Status FinishFile(int fd, const std::string& name, bool executable, const timespec& modified);
  Status MakeSymlink(const std::string& name, const std::string& target, const timespec& modified);
  Status MakeHardLink(const std::string& name, const std::string& existing);  // `existing`: a file of this tree
  Status Seal();                                                              // sets times; makes folders read-only

  std::filesystem::path PathOf(const std::string& name) const { return folder_ / name; }

 private:
  struct Place {
    int parent;  // borrowed descriptor
    std::string leaf;

    // Calls `make`, which creates an entry named `leaf`. If a file or a link already has this name, removes that file
    // or link, and calls `make` again.
    template <class Maker>
    bool Put(Maker make) const;
  };
  TreeWriter(std::filesystem::path folder, UniqueFd root) : folder_(std::move(folder)), root_(std::move(root)) {}
  Result<Place> Find(const std::string& name);
  // Opens `folder`; creates it and the folders above it where they are missing. `name` is the final path, for messages.
  Result<UniqueFd> Walk(const std::string& folder, const std::string& name);
  Result<UniqueFd> Step(int parent, const std::string& folder, const std::string& name);

  std::filesystem::path folder_;
  UniqueFd root_;
  // The folder of the previous name. It stays open, because the next name is usually in the same folder.
  std::string last_folder_;
  UniqueFd last_;
  std::vector<std::string> folders_;                      // in the order of creation
  std::vector<std::pair<std::string, timespec>> stamps_;  // modification times of folders
};

// Unpacks an archive of unknown origin into a new tree.

// Unpacks the archive `fd` into `tree`. kInvalid: an entry is refused; the message has the entry's name. These entries
// are refused: absolute names, names with "..", names that lead through links, and names that are not UTF-8 or too
// long. Devices, pipes, sockets, encrypted entries, and files in the place of an earlier folder are also refused. A
// hard link to anything except an earlier file of the archive is refused, too. Archives that are empty, cut off,
// damaged, or beyond the limits are refused with kInvalid, too. Setuid and setgid bits are dropped. Symbolic links are
// kept wherever they point, and never followed. A failure leaves a partial tree in `tree`, and nothing elsewhere.
Status Unpack(int fd, TreeWriter& tree, const UnpackLimits& limits, SpaceGuard& space, StageMeter& meter);

}  // namespace tony
