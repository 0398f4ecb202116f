// TF_CONFIG, as tf.distribute and Estimator read it, and CLUSTER_SPEC, TonY's plain map of role to host:port.
#include <boost/json.hpp>

#include "runtime/base/strings.h"
#include "runtime/framework/frameworks.h"

namespace tony {

namespace json = boost::json;

namespace {

constexpr std::string_view kEvaluator = "evaluator";
constexpr std::string_view kTensorboard = "tensorboard";

json::array Addresses(const std::vector<Endpoint>& endpoints) {
  json::array list;
  for (const auto& endpoint : endpoints) list.emplace_back(ToString(endpoint));
  return list;
}

json::object AllRoles(const ClusterSpec& cluster) {
  json::object roles;
  for (const auto& [role, endpoints] : cluster.roles) roles[role] = Addresses(endpoints);
  return roles;
}

// TensorFlow would wait for every member of "cluster": TensorBoard never joins it, and an evaluator is no member of
// the training cluster, but insists on finding itself there.
json::object TrainingCluster(const ClusterSpec& cluster, const TaskId& task) {
  json::object roles;
  for (const auto& [role, endpoints] : cluster.roles) {
    const bool other_evaluator = role == kEvaluator && task.role != kEvaluator;
    if (role != kTensorboard && !other_evaluator) roles[role] = Addresses(endpoints);
  }
  return roles;
}

std::string TfConfig(const ClusterSpec& cluster, const TaskId& task) {
  json::object self;
  self["type"] = task.role;
  self["index"] = task.index;
  json::object config;
  config["cluster"] = TrainingCluster(cluster, task);
  config["task"] = std::move(self);
  return json::serialize(config);
}

Environment TensorFlowEnvironment(const JobSpec&, const ClusterSpec& cluster, const TaskId& task, int) {
  return {{"CLUSTER_SPEC", json::serialize(AllRoles(cluster))}, {"TF_CONFIG", TfConfig(cluster, task)}};
}

RestartScope ScopeOfTensorFlow(const JobSpec& spec, const RoleSpec& role, RestartScope if_reachable) {
  if (role.name == kEvaluator) return RestartScope::kTask;
  const bool serves = role.name == "ps" || role.name == "chief";
  return spec.FindRole("ps") && !serves ? if_reachable : RestartScope::kGang;
}

}  // namespace

const Framework& TensorflowFramework() {
  static const Framework framework = {
      [](const JobSpec&) { return Ok(); }, TensorFlowEnvironment, {"CLUSTER_SPEC", "TF_CONFIG"}, ScopeOfTensorFlow};
  return framework;
}

}  // namespace tony
