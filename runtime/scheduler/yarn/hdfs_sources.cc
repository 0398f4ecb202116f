#include "runtime/scheduler/yarn/hdfs_sources.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/job/hdfs_place.h"
#include "runtime/scheduler/yarn/yarn_job_place.h"
#include "runtime/store/hdfs/hdfs_calls.h"

namespace tony {
namespace {

using hadoop::HdfsEntry;

// Each is told to each container, in a message of at most 64 MB that the master sends for it.
constexpr size_t kMostInFolder = 1000;

Error Refused(std::string why) { return {ErrorCode::kInvalid, std::move(why)}; }

class Look {
 public:
  explicit Look(const YarnCluster& cluster) : cluster_(cluster), hdfs_(HdfsOptions(cluster)) {}

  Result<std::vector<RemoteFile>> At(const FileSpec& file) {
    TRY_ASSIGN(const HdfsPlace place, ParseHdfsPlace(file.source));
    const std::string own = StrCat("hdfs://", ToString(cluster_.name_node));
    if (place.name_node && !IsOwn(*place.name_node)) {
      return Refused(StrCat("the job runs on a cluster whose HDFS is ", own, "; others cannot be used yet"));
    }
    const auto entry = hdfs_.GetEntry(place.path);
    if (!entry.ok() && entry.error().code == ErrorCode::kNotFound) {
      return Refused(StrCat("no such file or folder in ", own));
    }
    TRY(entry);
    if (entry->is_folder) return InFolder(place.path, file);
    TRY(hdfs_.CheckReadable(place.path));
    return std::vector<RemoteFile>{{file.name, place.path, entry->length, entry->modified, file.archive}};
  }

 private:
  bool IsOwn(const Endpoint& name_node) const {
    return name_node.port == cluster_.name_node.port && name_node.host == ToLower(cluster_.name_node.host);
  }

  Result<std::vector<RemoteFile>> InFolder(const std::string& path, const FileSpec& file) {
    if (file.archive || file.name != std::filesystem::path(path).filename()) {
      return Refused(StrCat("it is a folder in HDFS, whose files a task finds under their own names; expected ",
                            file.archive ? "an archive" : "a file, or no ::NAME"));
    }
    TRY_ASSIGN(const std::vector<HdfsEntry> entries, hdfs_.List(path));
    std::vector<RemoteFile> files;
    for (const HdfsEntry& entry : entries) {
      if (entry.is_folder) continue;
      if (IsTonysOwnFile(entry.name)) return Refused(StrCat("TonY itself keeps the file ", entry.name, " there"));
      if (files.size() == kMostInFolder) return Refused(StrCat("the folder has more than ", kMostInFolder, " files"));
      const std::string inside = StrCat(path == "/" ? "" : path, "/", entry.name);
      TRY(hdfs_.CheckReadable(inside));
      files.push_back({entry.name, inside, entry.length, entry.modified, /*is_packed=*/false});
    }
    if (files.empty()) return Refused("it is a folder in HDFS without a file; those in folders below it do not count");
    return files;
  }

  const YarnCluster& cluster_;
  WebHdfsCalls hdfs_;
};

}  // namespace

Result<std::vector<RemoteFile>> LookAtHdfs(const YarnCluster& cluster, const FileSpec& file) {
  return Look(cluster).At(file);
}

hadoop::LocalResource ResourceOf(const YarnCluster& cluster, const RemoteFile& file) {
  using hadoop::LocalResource;
  return {.scheme = "hdfs",
          .host = cluster.name_node.host,
          .port = cluster.name_node.port,
          .path = file.path,
          .size = file.size,
          .modified = file.modified,
          .kind = file.is_packed ? LocalResource::Kind::kArchive : LocalResource::Kind::kFile,
          .visibility = LocalResource::Visibility::kPrivate};  // as TonY: nodes keep it for the user's next job
}

}  // namespace tony
