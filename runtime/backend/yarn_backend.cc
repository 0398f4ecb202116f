#include "runtime/backend/yarn_backend.h"

#include "runtime/backend/yarn_logs.h"
#include "runtime/base/strings.h"
#include "runtime/job/hdfs_place.h"
#include "runtime/scheduler/yarn/hdfs_sources.h"
#include "runtime/scheduler/yarn/yarn_arbiter.h"
#include "runtime/scheduler/yarn/yarn_check.h"
#include "runtime/scheduler/yarn/yarn_cluster.h"
#include "runtime/scheduler/yarn/yarn_configured.h"
#include "runtime/scheduler/yarn/yarn_garbage.h"
#include "runtime/scheduler/yarn/yarn_jobs.h"
#include "runtime/scheduler/yarn/yarn_submission.h"
#include "runtime/store/local_request_index.h"
#include "runtime/store/user_home.h"

namespace tony {
namespace {

class YarnBackendImage : public Backend {
 public:
  Result<std::unique_ptr<JobStore>> Jobs() const override {
    return std::unique_ptr<JobStore>(std::make_unique<YarnJobs>(SiteFiles()));
  }
  Result<std::unique_ptr<JobStore>> JobsFor(const ParsedJobSpec& job) const override {
    return std::unique_ptr<JobStore>(std::make_unique<YarnJobs>(job.site_files));
  }
  // Of the submits from this home alone.
  Result<std::unique_ptr<RequestIndex>> Requests() const override {
    TRY_ASSIGN(const auto home, TonyHome());
    return std::unique_ptr<RequestIndex>(std::make_unique<LocalRequestIndex>(home / "yarn"));
  }
  const Arbiter& arbiter() const override { return arbiter_; }
  Result<std::unique_ptr<LogSource>> LogsOf(const JobRecords& records) const override {
    return MakeYarnLogs(records, arbiter_);
  }
  std::string PlaceOfLogs(const JobRecords& records) const override {
    return StrCat("yarn logs -applicationId ", records.job().value);
  }
  Result<std::vector<std::string>> Check(const ParsedJobSpec& job) const override {
    TRY_ASSIGN(const YarnCluster cluster, FindYarnCluster(job.site_files));
    return CheckYarnCluster(cluster, job.spec);
  }
  std::optional<std::string> WhyRefused(const ParsedJobSpec& job) const override {
    if (const auto notes = Check(job); !notes.ok()) return notes.error().message;
    for (const FileSpec& file : FilesInHdfs(job.spec))
      if (const auto there = LookAt(job, file); !there.ok())
        return StrCat("resource ", file.source, ": ", there.error().message);
    return std::nullopt;
  }
  Result<std::vector<RemoteFile>> LookAt(const ParsedJobSpec& job, const FileSpec& file) const override {
    TRY_ASSIGN(const YarnCluster cluster, FindYarnCluster(job.site_files));
    return LookAtHdfs(cluster, file);
  }
  Result<QueueView> Queue() const override { return QueueView(); }
  Result<Garbage> CollectGarbage(const GarbageOrder& order) const override {
    TRY_ASSIGN(const YarnCluster cluster, FindYarnCluster(JobId()));
    TRY_ASSIGN(Garbage garbage, GarbageIn(cluster).Collect(order));
    if (order.dry_run) return garbage;
    for (const std::string& job : garbage.jobs) ForgetCluster({job});
    return garbage;
  }
  bool KeepsPrograms() const override { return false; }
  Checks Doctor() const override { return {}; }
  std::unique_ptr<AmLauncher> MakeLauncher(EventLoop&) const override {
    return std::make_unique<YarnArbiter>(SubmissionOf);
  }

 private:
  const YarnArbiter arbiter_{SubmissionOf};
};

}  // namespace

const Backend& YarnBackend() {
  static const YarnBackendImage backend;
  return backend;
}

}  // namespace tony
