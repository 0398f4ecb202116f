// The directory where a program leaves its checkpoints, as its file system answers. Seam: LocalCheckpointFolder, and
// HdfsCheckpointFolder (records/hdfs). All of it may block as long as the file system does: not on a loop thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/job/checkpoint.h"
#include "runtime/job/job_spec.h"
#include "runtime/records/checkpoint_holder.h"
#include "runtime/records/job_records.h"

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

// All that a look at a job's checkpoints asks: where they are, which job has the folder, and what other jobs were.

struct CheckpointPlace {
  std::shared_ptr<const CheckpointFolder> folder;
  std::shared_ptr<const CheckpointHolders> holders;
  std::function<Result<JobRecords>(const JobId& job)> find_job;  // of the same user
};

CheckpointPlace CheckpointsOnThisMachine(const std::filesystem::path& home, const CheckpointSpec& spec);

// Which of the files that the user's program left is its newest checkpoint, and what was there before the job. All of
// it may block as long as the file system does: not on a loop thread.

// The last whole number in a name: "ckpt-0007.npz" 7, "epoch=2-val_loss=0.50" 2; the digit of .h5 and its like does not
// count. -1 if there is none or it is beyond int64_t.
int64_t StepOf(std::string_view name);

// Whether an entry of that name may be a checkpoint: UTF-8, matched by the shell pattern, which has to name a leading
// dot itself, and without a word "tmp" or "temp" unless the pattern has it too: it is still being written.
bool IsCheckpointName(const std::string& name, const std::string& pattern);

// A record of the journal has room for so many names.
inline constexpr size_t kMostCheckpoints = 10'000;

// All checkpoints that are there, sorted by name; `unknown` says why they could not be listed. Only files and folders
// directly in the directory, no links. None if there is no directory yet.
CheckpointListing ListCheckpoints(const CheckpointFolder& place, const CheckpointSpec& spec);

// The newest that the job may resume from, with who wrote it: what `listing` says is others' only where the job asks
// for it. Nothing if there is none; kNotPermitted or kUnavailable if it cannot be told: the directory cannot be read,
// is another one than was listed, or the listing does not say whose its checkpoints are.
//
// Logs, scripts and event files are not checkpoints, unless the pattern has their ending. Text files with a number,
// empty files, pointers (`latest`) and folders with unfinished files are, where there is nothing better. One that
// changes within `settle`, which is waited for, is still being written, and the next one is taken.
Result<std::optional<Checkpoint>> NewestCheckpoint(const CheckpointFolder& place, const CheckpointSpec& spec,
                                                   const CheckpointListing& listing, Duration settle = Duration(0));

}  // namespace tony
