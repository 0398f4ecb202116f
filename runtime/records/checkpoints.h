// The directory where a program leaves its checkpoints, read through its file system. Interface, implemented by
// LocalCheckpointFolder, and by HdfsCheckpointFolder (records/hdfs). All calls may block as long as the file system
// does: never call them on a loop thread.
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

// A search reads at most this many entries. On a network file system that answers in half a millisecond, it then ends
// within the minute for which the AM waits.
inline constexpr size_t kMaxEntriesRead = 50'000;  // includes entries inside folders
Error TooManyIn(size_t most, std::string_view what);

// The kind of a file, judged by its name.
enum class FileKind {
  // A log, a script, a picture, or an event file of TensorBoard.
  kOther,
  // A text file, such as ckpt-3.json or DeepSpeed's `latest`. Such a file counts as a checkpoint only if the directory
  // has nothing better.
  kWeak,
  kUnfinished,
  kData,
};
FileKind KindOf(std::string_view name);

// A summary of the files in a folder that may be a checkpoint or a part of one.
struct FolderContent {
  // The time when the newest data file was written; 0: the folder has no data file.
  int64_t written_ns = 0;
  bool has_files = false;
  bool has_text = false;
  bool has_unfinished = false;
  void Add(std::string_view name, int64_t modified_ns);
};

struct CheckpointEntry {
  // If the entry is a folder, size and time describe the folder alone, without its content.
  ListedCheckpoint entry;
  bool is_folder = false;
  // The entry belongs to another user, so this job cannot have written it.
  bool is_foreign = false;
};

// A view of an existing directory. An entry that disappears while it is read is treated as if it had never existed.
class CheckpointView {
 public:
  virtual ~CheckpointView() = default;
  // Returns the names of files and folders, without links, in no particular order.
  virtual Result<std::vector<std::string>> Names() = 0;
  virtual std::optional<CheckpointEntry> At(const std::string& name) = 0;
  // `folder` is an entry of this directory. Adds the sizes of all files inside the entry to `folder.bytes`, raises
  // `folder.modified_ns` to the newest time of everything inside it, and adds the files to `content`. The entry's own
  // time is not enough, because it does not change when a program writes into an existing file. `left` is the number of
  // entries that may still be read.
  virtual Status AddContent(ListedCheckpoint& folder, FolderContent& content, size_t& left) = 0;
};

class CheckpointFolder {
 public:
  virtual ~CheckpointFolder() = default;
  // Returns the directory's name, with links resolved as far as the path exists.
  virtual Result<std::string> Resolve() const = 0;
  // Returns a view of the directory; null if it does not exist. kNotPermitted or kUnavailable: it cannot be read.
  virtual Result<std::unique_ptr<CheckpointView>> Look() const = 0;
};

// A directory on this machine, or mounted on it. Links inside the directory are never followed.
class LocalCheckpointFolder : public CheckpointFolder {
 public:
  explicit LocalCheckpointFolder(std::string path) : path_(std::move(path)) {}

  Result<std::string> Resolve() const override;
  Result<std::unique_ptr<CheckpointView>> Look() const override;

 private:
  const std::string path_;
};

// The inputs of a search for a job's checkpoints: the folder of the checkpoints, the records of the folder's holder,
// and a function that finds other jobs.

struct CheckpointPlace {
  std::shared_ptr<const CheckpointFolder> folder;
  std::shared_ptr<const CheckpointHolders> holders;
  std::function<Result<JobRecords>(const JobId& job)> find_job;  // finds a job of the user
};

CheckpointPlace CheckpointsOnThisMachine(const std::filesystem::path& home, const CheckpointSpec& spec);

// The functions below list the checkpoints that existed before the job, or search for the newest checkpoint of the
// user's program. All calls may block as long as the file system does: never call them on a loop thread.

// Returns the last whole number in a name, which is the training step: 7 for "ckpt-0007.npz", 2 for
// "epoch=2-val_loss=0.50". The digit of endings such as .h5 does not count. Returns -1 if the name has no number, or
// only one beyond int64_t.
int64_t StepOf(std::string_view name);

// Returns true if an entry with this name may be a checkpoint: the name is UTF-8 and matches the shell pattern. A
// leading dot matches only a dot in the pattern. A word such as "tmp" or "temp" marks a file that is still being
// written. A name with such a word is refused, except if the pattern has such a word, too.
bool IsCheckpointName(const std::string& name, const std::string& pattern);

// The maximum number of checkpoints in a listing. A journal record has room for this many names.
inline constexpr size_t kMostCheckpoints = 10'000;

// Lists the existing checkpoints, sorted by name: files and folders directly in the directory, without links. The list
// is empty if the directory does not exist yet. If the checkpoints could not be listed, the result's `unknown` gives
// the reason.
CheckpointListing ListCheckpoints(const CheckpointFolder& place, const CheckpointSpec& spec);

// Returns the newest checkpoint from which the job may resume, with its writer. A checkpoint that others wrote,
// according to `listing`, counts only if the job requests this (resume_latest). nullopt: no such checkpoint exists.
// kNotPermitted or kUnavailable: the directory cannot be read, is not the directory that was listed, or the listing
// does not know the writers.
//
// Logs, scripts and event files are not checkpoints, unless the pattern has their ending. Text files with a number,
// empty files, pointers (`latest`) and folders with unfinished files count only if nothing better exists. If `settle`
// is above 0, the call waits that long and checks the result again. A checkpoint that has changed meanwhile is still
// being written, so the next best one is returned.
Result<std::optional<Checkpoint>> NewestCheckpoint(const CheckpointFolder& place, const CheckpointSpec& spec,
                                                   const CheckpointListing& listing, Duration settle = Duration(0));

}  // namespace tony
