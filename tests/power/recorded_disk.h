// A disk whose power is cut at every point. While a RecordedDisk lives, the calls by which this program changes what is
// below one folder are recorded (recorded_disk.cc stands in front of the C library). ForEachCut() then makes, for each
// point, what a machine may find there after a power cut.
//
// Only what POSIX promises counts as kept: of a file the content at its last fsync, of a folder the names at its own
// last fsync. A file system may have written more than that, so there are three kinds of each cut.
#pragma once

#include <filesystem>
#include <functional>
#include <set>
#include <string>

namespace tony {

enum class Survives {
  kSynced,    // what was synced
  kNames,     // ... and all names: the content of a file is as it was synced, or empty
  kContents,  // ... and the content of every file whose name was synced
};

struct PowerCut {
  std::filesystem::path left;      // what is left of the folder; the look may change it
  std::set<std::string> promised;  // by Promise() before this point
  std::string point;               // for people: "after 12 of 40, rename record.json, names survive"
};

// One at a time. Links, and what other processes do, are not recorded.
class RecordedDisk {
 public:
  // Is there; what is in it already is not in the cuts.
  explicit RecordedDisk(const std::filesystem::path& folder);
  ~RecordedDisk();
  RecordedDisk(const RecordedDisk&) = delete;

  void Promise(const std::string& what);  // from here on no power cut takes it back
  // Ends the recording.
  void ForEachCut(const std::function<void(const PowerCut&)>& look);
};

}  // namespace tony
