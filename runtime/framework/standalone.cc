// One task that needs nobody; in FCFS mode, as many as there are.
#include "runtime/base/strings.h"
#include "runtime/framework/frameworks.h"

namespace tony {
namespace {

Status CheckOneTask(const JobSpec& spec) {
  if (spec.TotalTasks() == 1) return Ok();
  std::vector<std::string> counts;
  for (const auto& role : spec.roles) counts.push_back(StrCat(role.instances, " ", role.name));
  return Error{ErrorCode::kInvalid, StrCat("framework standalone runs exactly one task, but the job has ",
                                           spec.TotalTasks(), " (", Join(counts, ", "),
                                           "); tasks that need nobody are run by "
                                           "tony.application.distributed-mode=FCFS")};
}

}  // namespace

const Framework& StandaloneFramework() {
  static const Framework framework = {
      CheckOneTask,
      [](const JobSpec&, const ClusterSpec&, const TaskId&, int) { return Environment(); },
      {},
      [](const JobSpec&, const RoleSpec&, RestartScope) { return RestartScope::kTask; }};
  return framework;
}

}  // namespace tony
