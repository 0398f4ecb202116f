#include "runtime/yarn/yarn_backend.h"

#include <utility>

#include "runtime/base/strings.h"
#include "runtime/job/hdfs_place.h"
#include "runtime/records/local_request_index.h"
#include "runtime/records/user_home.h"
#include "runtime/yarn/hdfs_sources.h"
#include "runtime/yarn/node_logs.h"
#include "runtime/yarn/yarn_arbiter.h"
#include "runtime/yarn/yarn_check.h"
#include "runtime/yarn/yarn_cluster.h"
#include "runtime/yarn/yarn_configured.h"
#include "runtime/yarn/yarn_garbage.h"
#include "runtime/yarn/yarn_jobs.h"
#include "runtime/yarn/yarn_log_reader.h"
#include "runtime/yarn/yarn_submission.h"

namespace tony {
namespace {

Result<LogExcerpt> FetchMoved(const JobId& job, const std::string& link, const std::string& stream) {
  TRY_ASSIGN(const YarnCluster cluster, FindYarnCluster(job));
  return AggregatedLogs(cluster, job).Fetch(link, stream);
}

// Returns the index of an older release. That index has the request ids only of jobs that were submitted on this
// machine.
Result<std::shared_ptr<const LocalRequestIndex>> OlderRequests(const RequestPlace& place) {
  TRY_ASSIGN(const auto home, TonyHome());
  const auto is_there = [look = place.look](const JobId& job) -> Result<bool> {
    TRY_ASSIGN(const JobPresence presence, look(job));
    return presence == JobPresence::kMade;
  };
  return std::make_shared<const LocalRequestIndex>(home / "yarn", is_there);
}

decltype(RequestPlace::look) Noting(const YarnCluster& cluster, decltype(RequestPlace::look) look) {
  return [cluster, look](const JobId& job) -> Result<JobPresence> {
    TRY_ASSIGN(const JobPresence presence, look(job));
    if (presence != JobPresence::kMade) return presence;
    TRY_ASSIGN(const auto note, FindClusterNote(job));
    if (!note) TRY(NoteCluster(job, NoteOf(cluster)));
    return presence;
  };
}

Result<YarnCluster> Find(const ClusterOf& of) {
  return std::visit([](const auto& one) { return FindYarnCluster(one); }, of);
}

class YarnBackendImage : public Backend, private JobLogs, private ClusterFiles, private Operations {
 public:
  YarnBackendImage() : Backend(/*keeps_programs=*/false) {}

  Result<std::unique_ptr<JobStore>> Jobs(const ClusterOf& of) const override {
    const auto* files = std::get_if<SiteFiles>(&of);
    return std::unique_ptr<JobStore>(std::make_unique<YarnJobs>(files ? *files : SiteFiles()));
  }
  Result<std::unique_ptr<RequestIndex>> Requests(const ClusterOf& of) const override {
    TRY_ASSIGN(const YarnCluster cluster, Find(of));
    RequestPlace place = RequestsIn(cluster);
    TRY_ASSIGN(place.older, OlderRequests(place));
    // A client that finds an existing job by its request id must know the job's cluster. If the job's own site files
    // name the cluster, the cluster is therefore noted.
    const auto* files = std::get_if<SiteFiles>(&of);
    if (files && *files != SiteFiles()) place.look = Noting(cluster, place.look);
    return std::unique_ptr<RequestIndex>(std::make_unique<RecordRequestIndex>(std::move(place)));
  }
  const Arbiter& arbiter() const override { return arbiter_; }
  std::unique_ptr<AmLauncher> MakeLauncher(EventLoop&) const override {
    return std::make_unique<YarnArbiter>(SubmissionOf);
  }
  Result<CheckedJob> Check(const ParsedJobSpec& job, CheckFor purpose) const override {
    TRY_ASSIGN(const YarnCluster cluster, FindYarnCluster(job.site_files));
    TRY_ASSIGN(auto checked, CheckYarnCluster(cluster, job.spec, purpose));
    if (purpose == CheckFor::kSubmit) return checked;
    for (const FileSpec& file : FilesInHdfs(job.spec))
      if (const auto there = FindHdfsFiles(cluster, file); !there.ok())
        return Annotate(there.error(), NameOfSource(file));
    return checked;
  }
  Result<PlannedSteps> Plan(const ParsedJobSpec& job) const override {
    TRY_ASSIGN(const YarnCluster cluster, FindYarnCluster(job.site_files));
    return PlanOnYarn(cluster, job.spec);
  }
  const JobLogs& logs() const override { return *this; }
  const ClusterFiles* cluster_files() const override { return this; }
  const Operations& operations() const override { return *this; }

 private:
  Result<std::unique_ptr<LogSource>> LogsOf(const JobRecords& records) const override {
    const auto fetch_moved = [job = records.job()](const std::string& link, const std::string& stream) {
      return FetchMoved(job, link, stream);
    };
    return MakeYarnLogs(records, arbiter_, fetch_moved,
                        [job = records.job()]() -> Result<std::shared_ptr<const HttpTrust>> {
                          TRY_ASSIGN(const YarnCluster cluster, FindYarnCluster(job));
                          return cluster.trust;
                        });
  }
  std::string PlaceOfLogs(const JobRecords& records) const override {
    return StrCat("tony logs ", records.job().value);
  }
  std::string PageWithoutMaster(const JobId& job) const override {
    const auto cluster = FindYarnCluster(job);
    return cluster.ok() ? PageOf(*cluster, job) : "";
  }
  Result<std::vector<RemoteFile>> LookAt(const SiteFiles& site_files, const FileSpec& file) const override {
    TRY_ASSIGN(const YarnCluster cluster, FindYarnCluster(site_files));
    return FindHdfsFiles(cluster, file);
  }
  Result<bool> FetchStaged(const JobRecords& records, const std::string& key,
                           const std::filesystem::path& to) const override {
    TRY_ASSIGN(const YarnCluster cluster, FindYarnCluster(records.job()));
    TRY_ASSIGN(const HdfsFiles files, ReadFiles(records));
    const auto file = files.find(key);
    if (file == files.end()) return NotFoundError("the job's records do not name the file ", key);
    TRY(FetchFromHdfs(cluster, file->second, to));
    return file->second.kind == hadoop::LocalResource::Kind::kArchive;
  }
  Result<std::shared_ptr<const CheckpointFolder>> Checkpoints(const JobId& job,
                                                              const std::string& directory) const override {
    TRY_ASSIGN(const YarnCluster cluster, FindYarnCluster(job));
    return CheckpointFolderOf(cluster, directory);
  }
  Status FetchCheckpoint(const JobId& job, const std::string& checkpoint,
                         const std::filesystem::path& to) const override {
    TRY_ASSIGN(const YarnCluster cluster, FindYarnCluster(job));
    return FetchCheckpointFromHdfs(cluster, checkpoint, to);
  }
  Result<std::string> FolderForCheckpoints(const JobId& job) const override {
    TRY_ASSIGN(const YarnCluster cluster, FindYarnCluster(SiteFiles()));
    const HdfsFolder folder = JobFolderOf(cluster, job);
    return StrCat(folder.file_system, folder.path, "/checkpoints");
  }
  Status SendCheckpoint(const std::filesystem::path& checkpoint, const std::string& folder) const override {
    TRY_ASSIGN(const YarnCluster cluster, FindYarnCluster(SiteFiles()));
    return SendCheckpointToHdfs(cluster, checkpoint, folder);
  }
  Result<std::shared_ptr<const FilesForOthers>> HistoryFiles(const JobId& job,
                                                             const std::string& folder) const override {
    TRY_ASSIGN(const YarnCluster cluster, FindYarnCluster(job));
    return FilesOfHistory(cluster, folder);
  }
  Result<std::string> Read(const std::string& source) const override {
    TRY_ASSIGN(const YarnCluster cluster, FindYarnCluster(SiteFiles()));
    return ReadFromHdfs(cluster, source);
  }
  Result<QueueView> Queue() const override {
    TRY_ASSIGN(const YarnCluster cluster, FindYarnCluster(JobId()));
    return ReadYarnQueue(cluster);
  }
  Result<Garbage> CollectGarbage(const GarbageOrder& order) const override {
    auto collected = [&]() -> Result<Garbage> {
      TRY_ASSIGN(const YarnCluster cluster, FindYarnCluster(JobId()));
      TRY_ASSIGN(Garbage garbage, GarbageIn(cluster).Collect(order));
      if (garbage.failure.ok()) garbage.failure = SweepRequests(cluster, order, garbage.requests);
      if (garbage.failure.ok() && !order.dry_run) garbage.failure = SweepCheckpointFolders(cluster);
      return garbage;
    }();
    Garbage garbage = collected.ok() ? *std::move(collected) : Garbage{.failure = collected.error()};
    for (const std::string& job : garbage.jobs)
      if (!order.dry_run) ForgetCluster({job});
    const Status noted = CollectNotes(order, JobsInHdfs, garbage);
    if (garbage.failure.ok()) garbage.failure = noted;
    return garbage;
  }
  Checks Doctor() const override { return CheckYarnHealth(); }
  static Status SweepRequests(const YarnCluster& cluster, const GarbageOrder& order, int& forgotten) {
    const RequestPlace place = RequestsIn(cluster);
    TRY_ASSIGN(const auto older, OlderRequests(place));
    TRY_ASSIGN(forgotten, RecordRequestIndex(place).Sweep(order.not_since, order.now, order.dry_run));
    TRY_ASSIGN(const int here, older->Sweep(order.not_since, order.now, order.dry_run));
    forgotten += here;
    return Ok();
  }

  const YarnArbiter arbiter_{SubmissionOf};
};

}  // namespace

const Backend& YarnBackend() {
  static const YarnBackendImage backend;
  return backend;
}

}  // namespace tony
