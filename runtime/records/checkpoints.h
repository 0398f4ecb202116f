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

// A search reads at most this many entries. On a network file system that answers in half a millisecond, the search
// then takes less than the minute for which the AM waits.
inline constexpr size_t kMaxEntriesRead = 50'000;  // includes the content of folders
Error TooManyIn(size_t most, std::string_view what);

// The kind of a file, judged by its name.
enum class FileKind {
  // A log, a script, a picture, or an event file of TensorBoard.
  kOther,
  // Text, which counts as a checkpoint only if the directory has nothing better: ckpt-3.json, and DeepSpeed's `latest`.
  kWeak,
  kUnfinished,
  kData,
};
FileKind KindOf(std::string_view name);

// A summary of the files in a folder that is a checkpoint, or a part of one.
struct FolderContent {
  // When the newest data file was written; 0: the folder has no data file.
  int64_t written_ns = 0;
  bool has_files = false;
  bool has_text = false;
  bool has_unfinished = false;
  void Add(std::string_view name, int64_t modified_ns);
};

struct CheckpointEntry {
  // For a folder, size and time do not include the folder's content.
  ListedCheckpoint entry;
  bool is_folder = false;
  // The entry belongs to another user, so this job cannot have written it.
  bool is_foreign = false;
};

// A view of an existing directory. An entry that disappears meanwhile counts as never seen.
class CheckpointView {
 public:
  virtual ~CheckpointView() = default;
  // Returns the names of files and folders, without links, in no particular order.
  virtual Result<std::vector<std::string>> Names() = 0;
  virtual std::optional<CheckpointEntry> At(const std::string& name) = 0;
  // Adds everything in the folder to `folder` and `content`, because a program may write into an existing folder, which
  // does not change the folder itself. `left` is the number of entries that may still be read.
  virtual Status AddContent(ListedCheckpoint& folder, FolderContent& content, size_t& left) = 0;
};

class CheckpointFolder {
 public:
  virtual ~CheckpointFolder() = default;
  // Returns the directory's own name, with links resolved as far as the path exists.
  virtual Result<std::string> Resolve() const = 0;
  // Returns null if the directory does not exist. kNotPermitted or kUnavailable: it cannot be read.
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

// Everything that a search for a job's checkpoints needs: where they are, which job holds the folder, and how to find
// other jobs.

struct CheckpointPlace {
  std::shared_ptr<const CheckpointFolder> folder;
  std::shared_ptr<const CheckpointHolders> holders;
  std::function<Result<JobRecords>(const JobId& job)> find_job;  // finds a job of the user
};

CheckpointPlace CheckpointsOnThisMachine(const std::filesystem::path& home, const CheckpointSpec& spec);

// Searches the files that the user's program left for its newest checkpoint, and lists the checkpoints that existed
// before the job. All calls may block as long as the file system does: never call them on a loop thread.

// Returns the last whole number in a name: 7 for "ckpt-0007.npz", 2 for "epoch=2-val_loss=0.50". The digit of endings
// such as .h5 does not count. Returns -1 if the name has no number, or one beyond int64_t.
int64_t StepOf(std::string_view name);

// Returns true if an entry with this name may be a checkpoint: the name is UTF-8 and matches the shell pattern, which
// must contain a leading dot itself. A word such as "tmp" or "temp" means that the file is still being written, unless
// the pattern has such a word.
bool IsCheckpointName(const std::string& name, const std::string& pattern);

// A record of the journal has room for this many names.
inline constexpr size_t kMostCheckpoints = 10'000;

// Lists all existing checkpoints, sorted by name: only files and folders directly in the directory, without links. The
// list is empty if the directory does not exist yet. `unknown` says why they could not be listed.
CheckpointListing ListCheckpoints(const CheckpointFolder& place, const CheckpointSpec& spec);

// Returns the newest checkpoint from which the job may resume, with its writer. A checkpoint of others, according to
// `listing`, counts only if the job requests this (resume_latest). nullopt: no such checkpoint exists. kNotPermitted or
// kUnavailable: the directory cannot be read, is not the directory that was listed, or the listing does not know the
// writers.
//
// Logs, scripts and event files are not checkpoints, unless the pattern has their ending. Text files with a number,
// empty files, pointers (`latest`) and folders with unfinished files count only if nothing better exists. If `settle`
// is above 0, the call waits that long. A checkpoint that changes meanwhile is still being written, and the next best
// is returned.
Result<std::optional<Checkpoint>> NewestCheckpoint(const CheckpointFolder& place, const CheckpointSpec& spec,
                                                   const CheckpointListing& listing, Duration settle = Duration(0));

}  // namespace tony
