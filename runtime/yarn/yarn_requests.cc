#include "runtime/yarn/yarn_requests.h"

#include <utility>

#include "runtime/base/strings.h"
#include "runtime/records/hdfs/hdfs_record_store.h"
#include "runtime/yarn/yarn_garbage.h"
#include "runtime/yarn/yarn_job_place.h"

namespace tony {
namespace {

Result<bool> IsThere(const HdfsBytes& hdfs, const std::string& path) {
  const auto entry = hdfs.Ask([&](HdfsCalls& calls) { return calls.GetEntry(path); });
  if (entry.ok()) return true;
  return IsMissing(entry.error()) ? Result<bool>(false) : Result<bool>(entry.error());
}

// Who gives a job up renames its folder, and back if it was made meanwhile: so it is looked for by both names, and
// then by its own again.
Result<JobPresence> PresenceOf(const HdfsBytes& hdfs, const std::string& jobs, const JobId& job) {
  const std::string folder = StrCat(jobs, "/", job.value);
  TRY_ASSIGN(const bool is_made, IsThere(hdfs, StrCat(folder, "/", kSubmissionRecord)));
  if (is_made) return JobPresence::kMade;
  for (const std::string& name : {folder, StrCat(jobs, "/", kOldJob, job.value), folder}) {
    TRY_ASSIGN(const bool is_there, IsThere(hdfs, name));
    if (is_there) return JobPresence::kComing;
  }
  return JobPresence::kNone;
}

}  // namespace

RequestPlace RequestsBy(const std::shared_ptr<HdfsCalls>& calls, const YarnCluster& cluster,
                        const HdfsPatience& patience) {
  const HdfsPlaces places = PlacesIn(cluster);
  const HdfsFolder folder{
      .file_system = StrCat("hdfs://", ToString(cluster.name_node)), .path = places.requests, .user = cluster.user};
  const HdfsBytes hdfs(calls, patience);
  const auto garbage = std::make_shared<YarnGarbage>(
      calls, places, [cluster](const JobId& job) { return RecordsOf(cluster, job); }, patience);
  // Written in the folder itself, so that collections find in one place what was not finished.
  return {.store = std::make_shared<HdfsRecordStore>(calls, folder, patience, folder.path),
          .make =
              [calls, folder](const std::string& name) {
                return MakeRecordFolder(calls, {folder.file_system, StrCat(folder.path, "/", name), folder.user});
              },
          .look = [hdfs, places](const JobId& job) { return PresenceOf(hdfs, places.jobs, job); },
          .give_up = [garbage](const JobId& job) { return garbage->GiveUp(job); },
          .older = nullptr};
}

RequestPlace RequestsIn(const YarnCluster& cluster) {
  return RequestsBy(std::make_shared<WebHdfsCalls>(HdfsOptions(cluster)), cluster);
}

}  // namespace tony
