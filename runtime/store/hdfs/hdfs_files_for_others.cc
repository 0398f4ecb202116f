#include "runtime/store/hdfs/hdfs_files_for_others.h"

#include <exception>
#include <optional>
#include <utility>

#include "runtime/base/shortage.h"
#include "runtime/hadoop/webhdfs_put.h"
#include "runtime/job/hdfs_place.h"

namespace tony {
namespace {

constexpr int kFolderMode = 0770;  // as TonY's
constexpr int kFileMode = 0640;

}  // namespace

// `start(path, done)` asks for the path in HDFS; the limits of the call end it.
template <class T, class Start>
Result<T> HdfsFilesForOthers::Ask(const std::string& path, Start start) const {
  TRY_ASSIGN(const HdfsPlace place, ParseHdfsPlace(path));
  const std::lock_guard lock(mutex_);
  try {
    std::optional<T> answer;
    const hadoop::WebHdfs::Handle handle = start(place.path, [&](T result) {
      answer = std::move(result);
      loop_.Stop();
    });
    loop_.Run();
    return *std::move(answer);
  } catch (const std::exception& thrown) {  // the loop's, where there are no more descriptors
    return ThrownError(thrown);
  }
}

Status HdfsFilesForOthers::MakeFolder(const std::string& path) const {
  TRY_ASSIGN(
      const Status made,
      (Ask<Status>(path, [&](const std::string& at, auto done) { return hdfs_.MakeFolders(at, kFolderMode, done); })));
  return made;
}

Status HdfsFilesForOthers::Write(const std::string& path, std::string_view content) const {
  TRY_ASSIGN(const Result<bool> put, (Ask<Result<bool>>(path, [&](const std::string& at, auto done) {
               return PutWhole(hdfs_, at, {.bytes = std::string(content), .file = {}, .on_moved = {}},
                               hadoop::HdfsRename::kOverwrite, kFileMode, done);
             })));
  return put.ok() ? Ok() : Status(put.error());
}

Status HdfsFilesForOthers::Remove(const std::string& path) const {
  TRY_ASSIGN(const Result<bool> removed,
             (Ask<Result<bool>>(path, [&](const std::string& at, auto done) { return hdfs_.Remove(at, done); })));
  return removed.ok() ? Ok() : Status(removed.error());
}

}  // namespace tony
