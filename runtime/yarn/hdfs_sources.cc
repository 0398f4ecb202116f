#include "runtime/yarn/hdfs_sources.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/job/hdfs_place.h"
#include "runtime/os/files.h"
#include "runtime/records/checkpoint_holder.h"
#include "runtime/records/hdfs/hdfs_calls.h"
#include "runtime/records/hdfs/hdfs_checkpoint_folder.h"
#include "runtime/records/user_home.h"
#include "runtime/yarn/cluster_login.h"
#include "runtime/yarn/hdfs_location.h"
#include "runtime/yarn/hdfs_staging.h"
#include "runtime/yarn/yarn_jobs.h"

namespace tony {
namespace {

using hadoop::HdfsEntry;

// Limit of files in a folder. The AM sends each container the list of the files, in a message of at most 64 MB.
constexpr size_t kMostInFolder = 1000;

constexpr int64_t kMostRead = 16 << 20;  // a thousand times a usual file

Error Refused(std::string why) { return InvalidError(std::move(why)); }

// Joins two parts of a path, each of which may be empty.
std::string In(const std::string& folder, const std::string& name) {
  return folder.empty() || name.empty() ? folder + name : StrCat(folder == "/" ? "" : folder, "/", name);
}

class Look {
 public:
  Look(const YarnCluster& cluster, const HdfsLocation& location)
      : path_(location.path), url_(OwnHdfs(location.hdfs)), hdfs_(HdfsOptions(location.hdfs)) {
    if (!IsSameHdfs(cluster, location.hdfs)) name_node_ = HdfsAuthority(location.hdfs.name_node);
  }

  Result<std::vector<RemoteFile>> At(const FileSpec& file) {
    TRY_ASSIGN(auto files, Find(file));
    for (RemoteFile& one : files) one.name_node = name_node_;
    return files;
  }

  Result<std::string> Content() {
    TRY_ASSIGN(const HdfsEntry entry, EntryAt(path_));
    if (entry.is_folder) return Refused("a folder, not a file");
    if (entry.length > kMostRead) return Refused(StrCat("larger than ", kMostRead >> 20, " MiB"));
    return hdfs_.Read(path_);
  }

 private:
  Result<std::vector<RemoteFile>> Find(const FileSpec& file) {
    const std::string& path = path_;
    TRY_ASSIGN(const HdfsEntry entry, EntryAt(path));
    if (entry.is_folder && file.name.empty()) return InTree(path);
    if (entry.is_folder) return InFolder(path, file);
    if (file.name.empty() && !IsArchiveOfNodes(path))
      return Refused(StrCat("the path is a file in HDFS; expected a folder, or an archive in ", kArchivesOfNodes));
    TRY(hdfs_.CheckAccess(path, "r--"));
    return std::vector<RemoteFile>{{file.name, path, entry.length, entry.modified, file.archive}};
  }

  Result<HdfsEntry> EntryAt(const std::string& path) {
    auto entry = hdfs_.GetEntry(path);
    if (entry.ok() || entry.error().code != ErrorCode::kNotFound) return entry;
    return Refused(StrCat("no such file or folder in ", url_));
  }

  Result<std::vector<RemoteFile>> InFolder(const std::string& path, const FileSpec& file) {
    if (file.archive || file.name != std::filesystem::path(path).filename()) {
      return Refused(StrCat("the path is a folder in HDFS, and a task finds its files under their own names; expected ",
                            file.archive ? "an archive" : "a file, or a folder without ::NAME"));
    }
    std::vector<RemoteFile> files;
    TRY(AddFilesOf(path, "", files));
    for (const RemoteFile& one : files)
      if (IsReservedFileName(one.name))
        return Refused(StrCat("TonY itself writes a file ", one.name, " into the task's folder"));
    if (files.empty())
      return Refused("the folder in HDFS has no files directly in it, and TonY does not use files in its subfolders");
    return files;
  }

  // Returns the files of a folder and its subfolders. Empty folders are left out, and the number of files is limited,
  // because each container receives the list. A folder on this machine has neither restriction.
  Result<std::vector<RemoteFile>> InTree(const std::string& path) {
    std::vector<RemoteFile> files;
    std::vector<std::string> folders = {""};
    for (size_t next = 0; next < folders.size(); ++next) {
      const std::string inside = folders[next];
      TRY_ASSIGN(const auto below, AddFilesOf(In(path, inside), inside, files));
      for (const std::string& name : below) folders.push_back(In(inside, name));
      if (folders.size() > kMostInFolder) return TooMany();
    }
    if (files.empty()) return Refused("the folder in HDFS and its subfolders have no files");
    return files;
  }

  // Adds the files of `folder`, and returns the names of its subfolders. `inside` is the path of `folder` below the
  // source, or "" for the source itself.
  Result<std::vector<std::string>> AddFilesOf(const std::string& folder, const std::string& inside,
                                              std::vector<RemoteFile>& files) {
    TRY_ASSIGN(const std::vector<HdfsEntry> entries, hdfs_.List(folder));
    std::vector<std::string> folders;
    for (const HdfsEntry& entry : entries) {
      if (entry.is_folder) {
        folders.push_back(entry.name);
        continue;
      }
      if (files.size() == kMostInFolder) return TooMany();
      const std::string path = In(folder, entry.name);
      TRY(hdfs_.CheckAccess(path, "r--"));
      files.push_back({In(inside, entry.name), path, entry.length, entry.modified, /*is_packed=*/false});
    }
    return folders;
  }

  static Error TooMany() {
    return Refused(StrCat("the folder has more than ", kMostInFolder, " files; use an archive, which may have more"));
  }

  const std::string path_, url_;
  std::string name_node_;  // as RemoteFile::name_node
  BlockingHdfs hdfs_;
};

}  // namespace

Result<std::vector<RemoteFile>> FindHdfsFiles(const YarnCluster& cluster, const FileSpec& file) {
  TRY_ASSIGN(const HdfsLocation location, Locate(cluster, file.source));
  return Look(cluster, location).At(file);
}

Result<std::string> ReadFromHdfs(const YarnCluster& cluster, const std::string& source) {
  TRY_ASSIGN(const HdfsLocation location, Locate(cluster, source));
  return Look(cluster, location).Content();
}

Status FetchFromHdfs(const YarnCluster& cluster, const hadoop::LocalResource& file, const std::filesystem::path& to) {
  constexpr int64_t kPart = 4 << 20;
  const std::string url = StrCat("hdfs://", file.host, file.port < 0 ? "" : StrCat(":", file.port), file.path);
  TRY_ASSIGN(const HdfsLocation location, Locate(cluster, url));
  BlockingHdfs hdfs(HdfsOptions(location.hdfs));
  TRY_ASSIGN(const HdfsEntry entry, Annotate(hdfs.GetEntry(location.path), url));
  if (entry.length != file.size || entry.modified != file.modified)
    return Refused(StrCat(url, " was overwritten at ", ToIso8601(entry.modified), ", after the job was submitted"));
  const UniqueFd copy(open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!copy.valid()) return FileError(ErrorCode::kCannotWrite, "make", to, errno);
  for (int64_t done = 0; done < file.size;) {
    TRY_ASSIGN(const std::string part, Annotate(hdfs.ReadPart(location.path, done, kPart), url));
    if (part.empty()) return Refused(StrCat(url, " became shorter while it was read"));
    TRY(WriteAll(copy.get(), part, to));
    done += static_cast<int64_t>(part.size());
  }
  return Ok();
}

hadoop::LocalResource ResourceOf(const YarnCluster& cluster, const RemoteFile& file) {
  using hadoop::LocalResource;
  const Endpoint name_node = file.name_node.empty()
                                 ? cluster.name_node
                                 : ParseEndpoint(file.name_node, 0).value_or(Endpoint{file.name_node, -1});
  return {.scheme = "hdfs",
          .host = name_node.host,
          .port = name_node.port,
          .path = file.path,
          .size = file.size,
          .modified = file.modified,
          .kind = file.is_packed ? LocalResource::Kind::kArchive : LocalResource::Kind::kFile,
          // As with the Java TonY, nodes keep the file for the user's next job.
          .visibility = LocalResource::Visibility::kPrivate};
}

namespace {

constexpr Duration kReportLimit{10'000};

std::shared_ptr<BlockingHdfs> CallsTo(const YarnCluster& cluster) {
  return std::make_shared<BlockingHdfs>(HdfsOptions(cluster));
}

Result<bool> IsJobThere(HdfsCalls& calls, const YarnCluster& cluster, const JobId& job) {
  return WasFound(calls.GetEntry(JobFolderOf(cluster, job).path));
}

// Returns true if the job has ended. A job that is the holder of a checkpoint folder had a running AM, so the
// ResourceManager knew the job. A job that the ResourceManager does not know any more has ended.
Result<bool> HasJobEnded(const YarnCluster& cluster, const JobId& job) {
  const auto calls = CallsTo(cluster);
  TRY_ASSIGN(const bool is_there, IsJobThere(*calls, cluster, job));
  if (!is_there) return true;
  TRY_ASSIGN(const auto status, RecordsOf(cluster, job).ReadStatus());
  if (status && status->verdict) return true;
  const auto id = hadoop::ParseApplicationId(job.value);
  if (!id) return true;
  const auto report = RmCalls(cluster, kReportLimit).Report(*id);
  if (report.ok()) return report->state >= hadoop::ApplicationState::kFinished;
  return report.error().code == ErrorCode::kNotFound ? Result<bool>(true) : Result<bool>(report.error());
}

RecordCheckpointHolders HoldersOn(const YarnCluster& cluster) {
  HdfsFolder root = JobFolderOf(cluster, JobId());
  root.path = PlacesIn(cluster).root;
  return {std::make_shared<HdfsRecordStore>(CallsTo(cluster), std::move(root)),
          [cluster](const JobId& job) { return HasJobEnded(cluster, job); }};
}

// Copies an entry of HDFS, with the path `from`, into the folder `to`.
Status FetchTree(const YarnCluster& hdfs, BlockingHdfs& calls, const std::string& from, const HdfsEntry& entry,
                 const std::filesystem::path& to) {
  const std::filesystem::path copy = to / std::filesystem::path(from).filename();
  if (!entry.is_folder)
    return FetchFromHdfs(hdfs, ResourceOf(hdfs, {.path = from, .size = entry.length, .modified = entry.modified}),
                         copy);
  TRY(MakeFolder(copy));
  TRY_ASSIGN(const std::vector<HdfsEntry> inside, calls.List(from));
  for (const HdfsEntry& each : inside) TRY(FetchTree(hdfs, calls, In(from, each.name), each, copy));
  return Ok();
}

// Copies the file or folder `from` into the folder of the store, which it makes.
Status SendTree(HdfsStore store, const std::filesystem::path& from) {
  std::vector<std::filesystem::path> files, folders;
  if (std::filesystem::is_directory(from)) {
    store.folder = In(store.folder, from.filename().string());
    for (const auto& entry : std::filesystem::directory_iterator(from)) {
      if (entry.is_symlink() && entry.is_directory())
        return Refused(StrCat(entry.path().string(), " is a link to a folder, which HDFS cannot keep"));
      (entry.is_directory() ? folders : files).push_back(entry.path());
    }
  } else {
    files = {from};
  }
  std::vector<HdfsSource> sources;
  for (const auto& file : files) sources.push_back({file.filename().string(), file.filename().string(), file});
  TRY(SendToHdfs(store, sources, {}).status());
  for (const auto& folder : folders) TRY(SendTree(store, folder));
  return Ok();
}

}  // namespace

Result<std::shared_ptr<const CheckpointFolder>> CheckpointFolderOf(const YarnCluster& cluster,
                                                                   const std::string& directory) {
  using Folder = std::shared_ptr<const CheckpointFolder>;
  if (!IsInHdfs(directory)) return Folder(std::make_shared<LocalCheckpointFolder>(directory));
  TRY_ASSIGN(const HdfsLocation location, Locate(cluster, directory));
  return Folder(std::make_shared<HdfsCheckpointFolder>(CallsTo(location.hdfs), OwnHdfs(location.hdfs), location.path,
                                                       cluster.user));
}

Status FetchCheckpointFromHdfs(const YarnCluster& cluster, const std::string& checkpoint,
                               const std::filesystem::path& to) {
  TRY_ASSIGN(const HdfsLocation location, Locate(cluster, checkpoint));
  BlockingHdfs calls(HdfsOptions(location.hdfs));
  TRY_ASSIGN(const HdfsEntry entry, Annotate(calls.GetEntry(location.path), checkpoint));
  return FetchTree(location.hdfs, calls, location.path, entry, to);
}

Status SendCheckpointToHdfs(const YarnCluster& cluster, const std::filesystem::path& checkpoint,
                            const std::string& folder) {
  TRY_ASSIGN(const HdfsLocation location, Locate(cluster, folder));
  TRY(BlockingHdfs(HdfsOptions(location.hdfs)).MakeFolders(location.path));
  if (checkpoint.empty()) return Ok();
  TRY_ASSIGN(const auto home, TonyHome());
  const HdfsStore store{.hdfs = HdfsOptionsOf(location.hdfs),
                        .name_node = location.hdfs.name_node,
                        .folder = location.path,
                        .scratch = home};
  return WithoutThrowing([&] { return SendTree(store, checkpoint); });
}

Result<CheckpointPlace> CheckpointsOnYarn(const YarnCluster& cluster, const CheckpointSpec& spec) {
  CheckpointPlace place;
  TRY_ASSIGN(place.folder, CheckpointFolderOf(cluster, spec.directory));
  place.holders = std::make_shared<RecordCheckpointHolders>(HoldersOn(cluster));
  place.find_job = [cluster](const JobId& job) -> Result<JobRecords> {
    JobRecords records = RecordsOf(cluster, job);
    TRY_ASSIGN(const auto submission, records.store().Get(kSubmissionRecord));
    if (submission) return records;
    return NotFoundError("job \"", job.value, "\" no longer exists");
  };
  return place;
}

Status CheckCheckpointFolder(const YarnCluster& cluster, const CheckpointSpec& spec) {
  if (!IsInHdfs(spec.directory)) return Ok();
  const auto look = [&]() -> Status {
    TRY_ASSIGN(const HdfsLocation location, Locate(cluster, spec.directory));
    BlockingHdfs hdfs(HdfsOptions(location.hdfs));
    const auto entry = hdfs.GetEntry(location.path);
    if (!entry.ok() && IsMissing(entry.error())) return Ok();
    TRY(entry);
    if (!entry->is_folder) return InvalidError("the path is a file; expected a folder");
    return hdfs.CheckAccess(location.path, "r-x");
  };
  return Annotate(look(), StrCat("tony.checkpoint.dir: ", spec.directory));
}

Status SweepCheckpointFolders(const YarnCluster& cluster) {
  const auto calls = CallsTo(cluster);
  return HoldersOn(cluster).Sweep([&](const JobId& job) { return IsJobThere(*calls, cluster, job); });
}

}  // namespace tony
