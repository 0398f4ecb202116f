// Role -> host:port by index, for one generation of the gang.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/endpoint.h"
#include "runtime/base/result.h"
#include "runtime/job/ids.h"

namespace tony {

struct ClusterSpec {
  Generation generation;
  // Every task of the job, also untracked ones. Empty where tasks start first come first served.
  std::map<std::string, std::vector<Endpoint>> roles;
  bool operator==(const ClusterSpec&) const = default;
};

// {"generation":1,"roles":{"worker":["127.0.0.1:4711", ...]}}
std::string ToJson(const ClusterSpec& spec);
Result<ClusterSpec> ClusterSpecFromJson(std::string_view json);

}  // namespace tony
