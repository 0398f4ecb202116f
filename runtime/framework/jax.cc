// JAX reads the two coordinator addresses by itself; the program passes the process count and id on:
// jax.distributed.initialize(num_processes=int(os.environ["JAX_NUM_PROCESSES"]), process_id=...).
#include "runtime/base/strings.h"
#include "runtime/framework/frameworks.h"

namespace tony {
namespace {

Environment JaxEnvironment(const JobSpec& spec, const ClusterSpec& cluster, const TaskId& task, int) {
  const std::string coordinator = ToString(LeaderEndpoint(spec, cluster));
  Environment environment = {
      {"JAX_COORDINATOR_ADDRESS", coordinator},
      {"JAX_NUM_PROCESSES", StrCat(spec.TrackedTasks())},
  };
  const int rank = GlobalRank(spec, task);
  if (rank >= 0) environment["JAX_PROCESS_ID"] = StrCat(rank);
  // JAX's own default is [::], which fails on hosts without IPv6 and listens to strangers elsewhere.
  if (rank == 0) environment["JAX_COORDINATOR_BIND_ADDRESS"] = coordinator;
  return environment;
}

}  // namespace

const Framework& JaxFramework() {
  static const Framework framework = {
      [](const JobSpec&) { return Ok(); },
      JaxEnvironment,
      {"JAX_COORDINATOR_ADDRESS", "JAX_COORDINATOR_BIND_ADDRESS", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID"},
      ScopeOfCollective};
  return framework;
}

}  // namespace tony
