// What no other framework has yet: named ports. For tests of TonY itself; no property asks for it.
//
// Every task has a port "data", the driver also "control". STAGED_PORTS is a task's own ("control=4712,data=4713"),
// STAGED_DATA where everybody's "data" is ("driver:0=host:4713,worker:0=host:4811").
#include "runtime/base/strings.h"
#include "runtime/framework/frameworks.h"

namespace tony {
namespace {

constexpr std::string_view kDriver = "driver";

Status CheckStaged(const JobSpec& spec) {
  if (spec.FindRole(kDriver)) return Ok();
  return Error{ErrorCode::kInvalid, "framework staged needs the role driver"};
}

std::vector<std::string> StagedPorts(const JobSpec&, const TaskId& task) {
  if (task.role == kDriver) return {"control", "data"};
  return {"data"};
}

Environment StagedEnvironment(const JobSpec&, const ClusterSpec& cluster, const TaskId& task) {
  std::vector<std::string> own, data;
  for (const auto& [id, ports] : cluster.ports) {
    for (const auto& [name, port] : ports) {
      if (id == task) own.push_back(StrCat(name, "=", port));
      if (name == "data") data.push_back(StrCat(ToString(id), "=", EndpointOf(cluster, id).host, ":", port));
    }
  }
  return {{"STAGED_DATA", Join(data, ",")}, {"STAGED_PORTS", Join(own, ",")}};
}

}  // namespace

const Framework& StagedFramework() {
  static const Framework framework = {
      CheckStaged, StagedEnvironment, {"STAGED_DATA", "STAGED_PORTS"}, ScopeOfCollective, nullptr, StagedPorts};
  return framework;
}

}  // namespace tony
