// Role -> host:port by index, for one generation of the gang.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/endpoint.h"
#include "runtime/base/result.h"
#include "runtime/job/ids.h"
#include "runtime/job/published_values.h"

namespace tony {

// Ports of a task besides its own, at the same host, by the names that its framework gives them.
using NamedPorts = std::map<std::string, int>;
constexpr size_t kMostNamedPorts = 64;   // of one task, with those of its single processes
bool IsPortName(std::string_view name);  // lower-case letters, digits and underscores after a letter; 32 at most

struct ClusterSpec {
  Generation generation;
  // Every task of the job, also untracked ones. Empty where tasks start first come first served.
  std::map<std::string, std::vector<Endpoint>> roles;
  std::map<TaskId, NamedPorts> ports;        // of the tasks that have any
  std::map<TaskId, PublishedValues> values;  // of tasks of earlier stages than whoever is told
  std::map<std::string, int> processes;      // of each task of these roles; one where the role is not there
  bool operator==(const ClusterSpec&) const = default;

  int ProcessesOf(const std::string& role) const;
};

// {"generation":1,"roles":{"worker":["127.0.0.1:4711", ...]},"ports":{"worker:0":{"data":4712}},
//  "values":{"driver:0":{"ADDRESS":"..."}},"processes":{"worker":3}}; the last three where there are any.
std::string ToJson(const ClusterSpec& spec);
Result<ClusterSpec> ClusterSpecFromJson(std::string_view json);

}  // namespace tony
