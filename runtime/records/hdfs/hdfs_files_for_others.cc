#include "runtime/records/hdfs/hdfs_files_for_others.h"

#include "runtime/hadoop/webhdfs.h"
#include "runtime/job/hdfs_place.h"
#include "runtime/records/hdfs/await_answer.h"

namespace tony {

// `start(path, done)` asks for the path in HDFS.
template <class T, class Start>
Result<T> HdfsFilesForOthers::Ask(const std::string& path, Start start) const {
  TRY_ASSIGN(const HdfsPlace place, ParseHdfsPlace(path));
  const std::lock_guard lock(mutex_);
  return AwaitAnswer<T>(loop_, [&](auto done) { return start(place.path, done); });
}

Status HdfsFilesForOthers::MakeFolder(const std::string& path) const {
  TRY_ASSIGN(const Status made, (Ask<Status>(path, [&](const std::string& at, auto done) {
               return hdfs_.MakeFolders(at, kFolderForOthers, done);
             })));
  return made;
}

Status HdfsFilesForOthers::Write(const std::string& path, std::string_view content) const {
  TRY_ASSIGN(const Result<bool> put, (Ask<Result<bool>>(path, [&](const std::string& at, auto done) {
               return PutWhole(hdfs_, at, {.bytes = std::string(content), .file = {}, .on_moved = {}},
                               hadoop::HdfsRename::kOverwrite, kFileForOthers, done);
             })));
  return put.ok() ? Ok() : Status(put.error());
}

Status HdfsFilesForOthers::Remove(const std::string& path) const {
  TRY_ASSIGN(const Result<bool> removed,
             (Ask<Result<bool>>(path, [&](const std::string& at, auto done) { return hdfs_.Remove(at, done); })));
  return removed.ok() ? Ok() : Status(removed.error());
}

}  // namespace tony
