// What no other framework has yet: named ports, stages, published values. For tests of TonY itself; no property asks
// for it.
//
// The driver starts first, then ps, then everybody else; driver and ps publish ADDRESS. Every task has a port "data",
// the driver also "control".
//
//   STAGED_PORTS      its own: "control=4712,data=4713"
//   STAGED_DATA       where everybody's "data" is: "driver:0=host:4713,worker:0=host:4811"
//   STAGED_ADDRESSES  what the stages before have published: "driver:0=...,ps:0=..."
#include "runtime/base/strings.h"
#include "runtime/framework/frameworks.h"

namespace tony {
namespace {

constexpr std::string_view kDriver = "driver";
constexpr std::string_view kServer = "ps";

Status CheckStaged(const JobSpec& spec) {
  if (spec.FindRole(kDriver)) return Ok();
  return Error{ErrorCode::kInvalid, "framework staged needs the role driver"};
}

std::vector<std::string> StagedPorts(const JobSpec&, const TaskId& task) {
  if (task.role == kDriver) return {"control", "data"};
  return {"data"};
}

int StageOfRole(const JobSpec&, std::string_view role) { return role == kDriver ? 0 : role == kServer ? 1 : 2; }

std::vector<std::string> StagedValues(const JobSpec&, const TaskId& task) {
  if (task.role == kDriver || task.role == kServer) return {"ADDRESS"};
  return {};
}

Environment StagedEnvironment(const JobSpec&, const ClusterSpec& cluster, const TaskId& task) {
  std::vector<std::string> own, data, addresses;
  for (const auto& [id, ports] : cluster.ports) {
    for (const auto& [name, port] : ports) {
      if (id == task) own.push_back(StrCat(name, "=", port));
      if (name == "data") data.push_back(StrCat(ToString(id), "=", EndpointOf(cluster, id).host, ":", port));
    }
  }
  for (const auto& [id, values] : cluster.values) {
    for (const auto& [name, value] : values) addresses.push_back(StrCat(ToString(id), "=", value));
  }
  return {
      {"STAGED_ADDRESSES", Join(addresses, ",")}, {"STAGED_DATA", Join(data, ",")}, {"STAGED_PORTS", Join(own, ",")}};
}

RestartScope ScopeOfRestart(const JobSpec&, const RoleSpec&, RestartScope if_reachable) { return if_reachable; }

}  // namespace

const Framework& StagedFramework() {
  static const Framework framework = {.check = CheckStaged,
                                      .environment = StagedEnvironment,
                                      .variables = {"STAGED_ADDRESSES", "STAGED_DATA", "STAGED_PORTS"},
                                      .smallest_scope = ScopeOfRestart,
                                      .port_names = StagedPorts,
                                      .stage = StageOfRole,
                                      .value_names = StagedValues};
  return framework;
}

}  // namespace tony
