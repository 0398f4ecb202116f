// A disk with a power cut at every point. While a RecordedDisk lives, it records the calls by which this program
// changes files below one folder (recorded_disk.cc stands in front of the C library). For each point, ForEachCut()
// makes what a machine may find after a power cut.
//
// Only what POSIX promises is kept: a file's content at its last fsync, and a folder's names at its own last fsync. A
// file system may have written more, so each cut has three kinds.
#pragma once

#include <filesystem>
#include <functional>
#include <set>
#include <string>

namespace tony {

enum class Survives {
  kSynced,  // all that was synced
  // Also all names; the content of a file is as it was synced, or empty.
  kNames,
  // Also the content of every file whose name was synced.
  kContents,
};

struct PowerCut {
  // The remains of the folder; the callback may change them.
  std::filesystem::path left;
  std::set<std::string> promised;  // promises made before this point
  // A text for people, e.g. "after 12 of 40, rename record.json, names survive".
  std::string point;
};

// At most one RecordedDisk exists. Symbolic links and changes by other processes are not recorded.
class RecordedDisk {
 public:
  // The folder must exist. Files that it has already are not in the cuts.
  explicit RecordedDisk(const std::filesystem::path& folder);
  ~RecordedDisk();
  RecordedDisk(const RecordedDisk&) = delete;

  // From now on power cuts must keep `what`.
  void Promise(const std::string& what);
  // Ends the recording and calls `look` for each cut.
  void ForEachCut(const std::function<void(const PowerCut&)>& look);
};

}  // namespace tony
