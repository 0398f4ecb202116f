#include "runtime/yarn/yarn_checkpoints.h"

#include <utility>

#include "runtime/base/strings.h"
#include "runtime/job/hdfs_place.h"
#include "runtime/records/hdfs/hdfs_checkpoint_folder.h"
#include "runtime/records/record_checkpoint_holders.h"
#include "runtime/yarn/hdfs_sources.h"
#include "runtime/yarn/yarn_cluster.h"
#include "runtime/yarn/yarn_job_place.h"

namespace tony {
namespace {

constexpr Duration kReportLimit{10'000};

std::shared_ptr<WebHdfsCalls> CallsTo(const YarnCluster& cluster) {
  return std::make_shared<WebHdfsCalls>(HdfsOptions(cluster));
}

Result<bool> IsJobThere(HdfsCalls& calls, const YarnCluster& cluster, const JobId& job) {
  const auto folder = calls.GetEntry(JobFolderOf(cluster, job).path);
  if (folder.ok()) return true;
  return IsMissing(folder.error()) ? Result<bool>(false) : Result<bool>(folder.error());
}

// A master takes its folder while it runs: one that the ResourceManager does not know has ended.
Result<bool> HasJobEnded(const YarnCluster& cluster, const JobId& job) {
  const auto calls = CallsTo(cluster);
  TRY_ASSIGN(const bool is_there, IsJobThere(*calls, cluster, job));
  if (!is_there) return true;
  TRY_ASSIGN(const auto status, RecordsOf(cluster, job).ReadStatus());
  if (status && status->verdict) return true;
  const auto id = hadoop::ParseApplicationId(job.value);
  if (!id) return true;
  const auto report = RmCalls(cluster.rm, cluster.user, kReportLimit).Report(*id);
  if (report.ok()) return report->state >= hadoop::ApplicationState::kFinished;
  return report.error().code == ErrorCode::kNotFound ? Result<bool>(true) : Result<bool>(report.error());
}

RecordCheckpointHolders HoldersOn(const YarnCluster& cluster) {
  HdfsFolder root = JobFolderOf(cluster, JobId());
  root.path = PlacesIn(cluster).root;
  return {std::make_shared<HdfsRecordStore>(CallsTo(cluster), std::move(root)),
          [cluster](const JobId& job) { return HasJobEnded(cluster, job); }};
}

std::shared_ptr<const CheckpointFolder> FolderOf(const YarnCluster& cluster, const CheckpointSpec& spec) {
  const auto place = ParseHdfsPlace(spec.directory);
  if (!place.ok()) return std::make_shared<LocalCheckpointFolder>(spec.directory);
  return std::make_shared<HdfsCheckpointFolder>(CallsTo(cluster), OwnHdfs(cluster), place->path, cluster.user);
}

Result<JobRecords> FindJobOn(const YarnCluster& cluster, const JobId& job) {
  JobRecords records = RecordsOf(cluster, job);
  TRY_ASSIGN(const auto submission, records.store().Get(kSubmissionRecord));
  if (submission) return records;
  return Error{ErrorCode::kNotFound, StrCat("job \"", job.value, "\" is gone")};
}

}  // namespace

CheckpointPlace CheckpointsOnYarn(const YarnCluster& cluster, const CheckpointSpec& spec) {
  return {.folder = FolderOf(cluster, spec),
          .holders = std::make_shared<RecordCheckpointHolders>(HoldersOn(cluster)),
          .find_job = [cluster](const JobId& job) { return FindJobOn(cluster, job); }};
}

Status CheckCheckpointFolder(const YarnCluster& cluster, const CheckpointSpec& spec) {
  if (!IsInHdfs(spec.directory)) return Ok();
  const auto look = [&]() -> Status {
    TRY_ASSIGN(const std::string path, PathInHdfs(cluster, spec.directory));
    WebHdfsCalls hdfs(HdfsOptions(cluster));
    const auto entry = hdfs.GetEntry(path);
    if (!entry.ok() && IsMissing(entry.error())) return Ok();
    TRY(entry);
    if (!entry->is_folder) return Error{ErrorCode::kInvalid, "it is a file; expected a folder"};
    return hdfs.CheckAccess(path, "r-x");
  };
  const Status looked = look();
  return looked.ok() ? Ok() : Status(Annotate(looked.error(), StrCat("tony.checkpoint.dir: ", spec.directory)));
}

Status SweepCheckpointFolders(const YarnCluster& cluster) {
  const auto calls = CallsTo(cluster);
  return HoldersOn(cluster).Sweep([&](const JobId& job) { return IsJobThere(*calls, cluster, job); });
}

}  // namespace tony
