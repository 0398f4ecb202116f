#include "runtime/framework/hostfile.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/framework/framework.h"

namespace tony {

std::string Hostfile(const JobSpec& spec, const ClusterSpec& cluster) {
  std::map<int, std::string_view> by_rank;
  std::map<std::string_view, int> slots;
  for (const RoleSpec& role : spec.roles) {
    const auto found = cluster.roles.find(role.name);
    if (found == cluster.roles.end() || role.completion != Completion::kTracked) continue;
    for (size_t i = 0; i < found->second.size(); ++i) {
      const std::string& host = found->second[i].host;
      by_rank[GlobalRank(spec, {role.name, static_cast<int>(i)})] = host;
      const int of_machine = role.resources.gpus > 0 ? role.resources.gpus : role.resources.vcores;
      slots[host] += std::max(of_machine, role.processes);
    }
  }
  std::string text;
  for (const auto& [rank, host] : by_rank) {
    if (const auto left = slots.extract(host)) text += StrCat(host, " slots=", left.mapped(), "\n");
  }
  return text;
}

}  // namespace tony
