// XGBoost's collective needs a tracker, which the one task of role "tracker" runs at the port that it has from us
// (xgboost.tracker.RabitTracker) and which ends by itself. The workers, all other tracked tasks, connect to it. The
// names are those of the arguments of xgboost.collective.CommunicatorContext, in capitals, to which a worker passes
// them.
#include "runtime/base/strings.h"
#include "runtime/framework/frameworks.h"

namespace tony {
namespace {

constexpr std::string_view kTracker = "tracker";

bool IsWorker(const RoleSpec& role) { return role.completion == Completion::kTracked && role.name != kTracker; }

int Workers(const JobSpec& spec) {
  int workers = 0;
  for (const auto& role : spec.roles) {
    if (IsWorker(role)) workers += role.instances;
  }
  return workers;
}

// Place among all workers, in the order of the spec; -1 for others.
int WorkerNumber(const JobSpec& spec, const TaskId& task) {
  int before = 0;
  for (const auto& role : spec.roles) {
    if (role.name == task.role) return IsWorker(role) ? before + task.index : -1;
    if (IsWorker(role)) before += role.instances;
  }
  return -1;
}

Status CheckTracker(const JobSpec& spec) {
  const RoleSpec* tracker = spec.FindRole(kTracker);
  if (!tracker || tracker->instances != 1) {
    return Error{
        ErrorCode::kInvalid,
        StrCat("framework xgboost needs exactly one task of role tracker, which runs XGBoost's tracker, but the "
               "job has ",
               tracker ? tracker->instances : 0, ": set tony.tracker.instances=1 and tony.tracker.command")};
  }
  if (Workers(spec) > 0) return Ok();
  return Error{ErrorCode::kInvalid, "framework xgboost needs a tracked role beside tracker, as worker"};
}

Environment XgBoostEnvironment(const JobSpec& spec, const ClusterSpec& cluster, const TaskId& task, int) {
  const Endpoint& tracker = EndpointOf(cluster, {std::string(kTracker), 0});
  Environment environment = {
      {"DMLC_NUM_WORKER", StrCat(Workers(spec))},
      {"DMLC_TRACKER_PORT", StrCat(tracker.port)},
      {"DMLC_TRACKER_URI", tracker.host},
  };
  if (const int number = WorkerNumber(spec, task); number >= 0) environment["DMLC_TASK_ID"] = StrCat(number);
  return environment;
}

}  // namespace

const Framework& XgboostFramework() {
  static const Framework framework = {CheckTracker,
                                      XgBoostEnvironment,
                                      {"DMLC_NUM_WORKER", "DMLC_TASK_ID", "DMLC_TRACKER_PORT", "DMLC_TRACKER_URI"},
                                      ScopeOfCollective,
                                      [](const JobSpec&, const TaskId& task) { return task.role == kTracker; }};
  return framework;
}

}  // namespace tony
