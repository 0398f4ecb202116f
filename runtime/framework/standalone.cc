// One task that needs nobody, maybe with sidecars; in FCFS mode, as many as there are.
#include "runtime/base/strings.h"
#include "runtime/framework/frameworks.h"

namespace tony {
namespace {

// Sidecars beside it do not count: TensorBoard is one.
Status CheckOneTask(const JobSpec& spec) {
  int count = 0;
  std::vector<std::string> counts;
  for (const auto& role : spec.roles) {
    if (role.completion == Completion::kSidecar) continue;
    count += role.instances;
    counts.push_back(StrCat(role.instances, " ", role.name));
  }
  if (count == 1) return Ok();
  return Error{ErrorCode::kInvalid,
               StrCat("framework standalone runs exactly one task, but the job has ", count, " (", Join(counts, ", "),
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
