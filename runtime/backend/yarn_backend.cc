#include "runtime/backend/yarn_backend.h"

#include "runtime/base/strings.h"
#include "runtime/scheduler/yarn/yarn_arbiter.h"
#include "runtime/scheduler/yarn/yarn_check.h"
#include "runtime/scheduler/yarn/yarn_cluster.h"
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
    TRY_ASSIGN(YarnCluster cluster, FindYarnCluster());
    return std::unique_ptr<JobStore>(std::make_unique<YarnJobs>(std::move(cluster)));
  }
  // Of the submits from this home alone.
  Result<std::unique_ptr<RequestIndex>> Requests() const override {
    TRY_ASSIGN(const auto home, TonyHome());
    return std::unique_ptr<RequestIndex>(std::make_unique<LocalRequestIndex>(home / "yarn"));
  }
  const Arbiter& arbiter() const override { return arbiter_; }
  Result<std::unique_ptr<LogSource>> LogsOf(const JobRecords& records) const override {
    return Error{ErrorCode::kUnavailable,
                 StrCat("the logs of job ", records.job().value, " are kept by YARN: ", PlaceOfLogs(records))};
  }
  std::string PlaceOfLogs(const JobRecords& records) const override {
    return StrCat("yarn logs -applicationId ", records.job().value);
  }
  Result<std::vector<std::string>> Check(const JobSpec& spec) const override {
    TRY_ASSIGN(const YarnCluster cluster, FindYarnCluster());
    return CheckYarnCluster(cluster, spec);
  }
  std::optional<std::string> WhyRefused(const JobSpec& spec) const override {
    const auto notes = Check(spec);
    return notes.ok() ? std::nullopt : std::optional(notes.error().message);
  }
  Result<QueueView> Queue() const override { return QueueView(); }
  Result<Garbage> CollectGarbage(const GarbageOrder& order) const override {
    TRY_ASSIGN(const YarnCluster cluster, FindYarnCluster());
    return GarbageIn(cluster).Collect(order);
  }
  Checks Doctor() const override { return {}; }
  std::unique_ptr<AmLauncher> MakeLauncher(EventLoop&) const override {
  bool KeepsPrograms() const override { return false; }
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
