// torch.distributed's env:// variables, and the INIT_METHOD, RANK and WORLD that TonY's examples read. TonY's RANK was
// the index within the role, so that two roles collided; here ranks count over all tracked tasks.
#include "runtime/base/strings.h"
#include "runtime/framework/frameworks.h"

namespace tony {
namespace {

Environment PyTorchEnvironment(const JobSpec& spec, const ClusterSpec& cluster, const TaskId& task, int) {
  const Endpoint& leader = LeaderEndpoint(spec, cluster);
  const std::string world = StrCat(spec.TrackedTasks());
  Environment environment = {
      {"INIT_METHOD", StrCat("tcp://", ToString(leader))},
      {"MASTER_ADDR", leader.host},
      {"MASTER_PORT", StrCat(leader.port)},
      {"WORLD", world},
      {"WORLD_SIZE", world},
  };
  // A task that is no member of the process group must not look like one.
  if (const int rank = GlobalRank(spec, task); rank >= 0) {
    environment["RANK"] = StrCat(rank);
    environment["LOCAL_RANK"] = "0";  // one process for each task
  }
  return environment;
}

}  // namespace

const Framework& PytorchFramework() {
  static const Framework framework = {
      [](const JobSpec&) { return Ok(); },
      PyTorchEnvironment,
      {"INIT_METHOD", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD", "WORLD_SIZE"},
      ScopeOfCollective};
  return framework;
}

}  // namespace tony
