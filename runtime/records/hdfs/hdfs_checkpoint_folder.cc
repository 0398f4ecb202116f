#include "runtime/records/hdfs/hdfs_checkpoint_folder.h"

#include <algorithm>
#include <map>
#include <utility>

#include "runtime/base/strings.h"

namespace tony {
namespace {

using hadoop::HdfsEntry;

// The maximum number of times that a changing folder is listed. A NameNode lists a large folder in parts, and an entry
// that is renamed between two parts may be missing from both. A folder that has changed is therefore listed again.
constexpr int kMostListings = 5;
// Parts of names that Hadoop's own tools give to files while they write them.
constexpr std::string_view kBeingCopied = "._COPYING_";
constexpr std::string_view kOfCommitters = "_temporary";

ListedCheckpoint ListedOf(const HdfsEntry& entry) {
  return {entry.name, entry.id, entry.length, ToMillis(entry.modified) * 1'000'000};
}

Result<std::vector<HdfsEntry>> ListOf(const HdfsBytes& hdfs, const std::string& path) {
  return hdfs.Ask([&](HdfsCalls& calls) { return calls.List(path); });
}

class HdfsSight : public CheckpointView {
 public:
  HdfsSight(HdfsBytes hdfs, std::string path, std::string user, std::vector<HdfsEntry> entries)
      : hdfs_(std::move(hdfs)), path_(std::move(path)), user_(std::move(user)) {
    for (HdfsEntry& entry : entries) entries_[entry.name] = std::move(entry);
  }

  Result<std::vector<std::string>> Names() override {
    std::vector<std::string> names;
    for (const auto& [name, entry] : entries_)
      if (!name.ends_with(kBeingCopied) && name != kOfCommitters) names.push_back(name);
    return names;
  }

  std::optional<CheckpointEntry> At(const std::string& name) override {
    const auto found = entries_.find(name);
    if (found == entries_.end()) return std::nullopt;
    const HdfsEntry& entry = found->second;
    return CheckpointEntry{ListedOf(entry), entry.is_folder, entry.owner != user_};
  }

  Status AddContent(ListedCheckpoint& folder, FolderContent& content, size_t& left) override {
    return AddContentOf(StrCat(path_ == "/" ? "" : path_, "/", folder.name), folder, content, left);
  }

 private:
  // A folder that may not be read is skipped, because no job can resume from it.
  Status AddContentOf(const std::string& path, ListedCheckpoint& sum, FolderContent& content, size_t& left) {
    const auto entries = ListOf(hdfs_, path);
    const bool is_out_of_sight = !entries.ok() && (IsMissing(entries.error()) ||  //
                                                   entries.error().code == ErrorCode::kNotPermitted);
    if (is_out_of_sight) return Ok();
    TRY(entries);
    for (const HdfsEntry& entry : *entries) {
      if (left-- == 0) return TooManyIn(kMaxEntriesRead, "files");
      const ListedCheckpoint inside = ListedOf(entry);
      sum.modified_ns = std::max(sum.modified_ns, inside.modified_ns);
      sum.bytes += inside.bytes;
      if (!entry.is_folder) content.Add(entry.name, inside.modified_ns);
      if (entry.is_folder) TRY(AddContentOf(StrCat(path, "/", entry.name), sum, content, left));
    }
    return Ok();
  }

  const HdfsBytes hdfs_;
  const std::string path_, user_;
  std::map<std::string, HdfsEntry> entries_;
};

}  // namespace

Result<HdfsEntry> HdfsCheckpointFolder::Entry() const {
  return hdfs_.Ask([&](HdfsCalls& calls) { return calls.GetEntry(path_); });
}

Result<std::unique_ptr<CheckpointView>> HdfsCheckpointFolder::Look() const {
  const auto unreadable = [this](Error error) -> Error {
    if (error.code != ErrorCode::kNotPermitted) error.code = ErrorCode::kUnavailable;
    return Annotate(std::move(error), StrCat("open ", file_system_, path_));
  };
  for (int listing = 1; listing <= kMostListings; ++listing) {
    const auto before = Entry();
    if (!before.ok() && IsMissing(before.error())) return std::unique_ptr<CheckpointView>();
    if (!before.ok()) return unreadable(before.error());
    if (!before->is_folder) return unreadable({ErrorCode::kInvalid, "the path is a file"});
    auto entries = ListOf(hdfs_, path_);
    const auto after = Entry();
    if (!entries.ok() && !IsMissing(entries.error())) return unreadable(entries.error());
    if (!entries.ok() || !after.ok() || after->id != before->id || after->modified != before->modified) continue;
    return std::unique_ptr<CheckpointView>(std::make_unique<HdfsSight>(hdfs_, path_, user_, *std::move(entries)));
  }
  return unreadable({ErrorCode::kUnavailable, "the folder changed each time it was listed"});
}

// Calls `start(path, done)`, with the path in HDFS, and returns the answer.
template <class T, class Start>
Result<T> HdfsFilesForOthers::Ask(const std::string& path, Start start) const {
  TRY_ASSIGN(const std::string at, path_of_(path));
  const std::lock_guard lock(mutex_);
  return AwaitAnswer<T>(loop_, [&](auto done) { return start(at, done); });
}

Status HdfsFilesForOthers::MakeFolder(const std::string& path) const {
  TRY_ASSIGN(const Status made, (Ask<Status>(path, [&](const std::string& at, auto done) {
               return hdfs_->MakeFolders(at, kFolderForOthers, done);
             })));
  return made;
}

Status HdfsFilesForOthers::Write(const std::string& path, std::string_view content) const {
  TRY_ASSIGN(const Result<bool> put, (Ask<Result<bool>>(path, [&](const std::string& at, auto done) {
               return PutCompleteFile(*hdfs_, at, {.bytes = std::string(content), .file = {}, .on_moved = {}},
                                      hadoop::HdfsRename::kOverwrite, kFileForOthers, done);
             })));
  return put.status();
}

Status HdfsFilesForOthers::Remove(const std::string& path) const {
  TRY_ASSIGN(const Result<bool> removed,
             (Ask<Result<bool>>(path, [&](const std::string& at, auto done) { return hdfs_->Remove(at, done); })));
  return removed.status();
}

}  // namespace tony
