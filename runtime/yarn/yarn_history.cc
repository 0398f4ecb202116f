#include "runtime/yarn/yarn_history.h"

#include <filesystem>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/history/history_files.h"
#include "runtime/job/hdfs_place.h"
#include "runtime/records/hdfs/hdfs_bytes.h"
#include "runtime/records/hdfs/hdfs_files_for_others.h"
#include "runtime/yarn/hdfs_sources.h"
#include "runtime/yarn/yarn_job_place.h"

namespace tony {
namespace {

constexpr Duration kCallLimit{10'000};

std::shared_ptr<const FilesForOthers> FilesInHdfs(const YarnCluster& cluster) {
  hadoop::WebHdfs::Options options = HdfsOptions(cluster);
  options.limits.stalled = options.limits.whole = kCallLimit;
  return std::make_shared<HdfsFilesForOthers>(std::move(options));
}

void WriteInHdfs(const YarnCluster& cluster, const JobRecords& records,
                 Status (*write)(const JobRecords&, const FilesForOthers&)) {
  const auto written = [&]() -> Status {
    TRY_ASSIGN(const JobSpec spec, records.ReadSpec());
    if (!IsInHdfs(spec.history_folder)) return Ok();
    TRY_ASSIGN(const auto files, FilesOfHistory(cluster, spec.history_folder));
    return write(records, *files);
  }();
  if (!written.ok()) LogWarn(StrCat("history of the job: ", written.error().message));
}

// The folder itself, or the nearest above it, in which it would be made.
Result<hadoop::HdfsEntry> NearestThere(WebHdfsCalls& hdfs, std::string& path) {
  for (;; path = std::filesystem::path(path).parent_path()) {
    auto entry = hdfs.GetEntry(path);
    if (entry.ok() || !IsMissing(entry.error()) || path == "/") return entry;
  }
}

Status CheckHistoryFolder(const YarnCluster& cluster, const std::string& folder) {
  TRY_ASSIGN(std::string path, PathInHdfs(cluster, folder));
  WebHdfsCalls hdfs(HdfsOptions(cluster));
  TRY_ASSIGN(const hadoop::HdfsEntry entry, NearestThere(hdfs, path));
  if (!entry.is_folder) return Error{ErrorCode::kInvalid, StrCat(path, " is a file")};
  return hdfs.CheckAccess(path, "-wx");
}

}  // namespace

void BeginHistoryInHdfs(const YarnCluster& cluster, const JobRecords& records) {
  WriteInHdfs(cluster, records, BeginHistory);
}

void FinishHistoryInHdfs(const YarnCluster& cluster, const JobRecords& records) {
  WriteInHdfs(cluster, records, FinishHistory);
}

Result<std::shared_ptr<const FilesForOthers>> FilesOfHistory(const YarnCluster& cluster, const std::string& folder) {
  if (!IsInHdfs(folder)) return std::shared_ptr<const FilesForOthers>(std::shared_ptr<void>(), &FilesOnThisMachine());
  TRY(PathInHdfs(cluster, folder));
  return FilesInHdfs(cluster);
}

std::optional<std::string> WhyNoHistory(const YarnCluster& cluster, const JobSpec& spec) {
  if (!IsInHdfs(spec.history_folder)) return std::nullopt;
  const Status checked = CheckHistoryFolder(cluster, spec.history_folder);
  if (checked.ok()) return std::nullopt;
  return StrCat("no history will be kept in ", spec.history_folder, ": ", checked.error().message);
}

}  // namespace tony
