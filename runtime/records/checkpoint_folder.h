// The directory where a program leaves its checkpoints, as its file system answers. Seam: LocalCheckpointFolder, and
// HdfsCheckpointFolder (records/hdfs). All of it may block as long as the file system does: not on a loop thread.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/job/checkpoint.h"

namespace tony {

// How much may be looked at: on a network file system that answers in half a millisecond the look takes less than the
// minute that it is waited for.
inline constexpr size_t kMostLookedAt = 50'000;  // with what is in folders
Error TooManyIn(size_t most, std::string_view what);

// The kind of a file, as its name tells it.
enum class FileKind {
  kOther,  // a log, a script, a picture, an event file of TensorBoard
  kWeak,   // text, which is a checkpoint only where nothing else is: ckpt-3.json, and DeepSpeed's `latest`
  kUnfinished,
  kData,
};
FileKind KindOf(std::string_view name);

// The files in a folder that is a checkpoint, or belongs to one.
struct FolderContent {
  int64_t written_ns = 0;  // when the last one with data was written; 0: there is none
  bool has_files = false;
  bool has_text = false;
  bool has_unfinished = false;
  void Add(std::string_view name, int64_t modified_ns);
};

struct SeenCheckpoint {
  ListedCheckpoint entry;  // of a folder without what is in it
  bool is_folder = false;
  bool is_foreign = false;  // another user's, so that this job cannot have written it
};

// One look at a directory that is there. What goes meanwhile is as if it had not been there.
class CheckpointSight {
 public:
  virtual ~CheckpointSight() = default;
  virtual Result<std::vector<std::string>> Names() = 0;  // of files and folders, no links; in no order
  virtual std::optional<SeenCheckpoint> At(const std::string& name) = 0;
  // Adds all that is in the folder: a program may write into one that is there, which does not change the folder
  // itself. `left`: how many entries may still be looked at.
  virtual Status AddContent(ListedCheckpoint& folder, FolderContent& content, size_t& left) = 0;
};

class CheckpointFolder {
 public:
  virtual ~CheckpointFolder() = default;
  virtual Result<std::string> Resolve() const = 0;  // its own name, with links resolved as far as it is there
  // Null: there is none. kNotPermitted or kUnavailable: it cannot be read.
  virtual Result<std::unique_ptr<CheckpointSight>> Look() const = 0;
};

// On this machine, or mounted on it. Links in it are followed nowhere.
class LocalCheckpointFolder : public CheckpointFolder {
 public:
  explicit LocalCheckpointFolder(std::string path) : path_(std::move(path)) {}

  Result<std::string> Resolve() const override;
  Result<std::unique_ptr<CheckpointSight>> Look() const override;

 private:
  const std::string path_;
};

}  // namespace tony
