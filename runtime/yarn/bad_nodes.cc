#include "runtime/yarn/bad_nodes.h"

#include <algorithm>

#include "runtime/base/strings.h"

namespace tony {
namespace {

// A NodeManager looks every two minutes whether its disks are well; one that was restarted has forgotten its troubles.
constexpr std::chrono::minutes kRemembered(10);
constexpr int kMostFailures = 2;

}  // namespace

void BadNodes::Failed(const std::string& host, Instant now) { failures_[host].push_back(now); }

std::set<std::string> BadNodes::ToAvoid(int all_nodes, Instant now) {
  std::set<std::string> avoided;
  for (auto& [host, failures] : failures_) {
    std::erase_if(failures, [now](Instant failure) { return failure + kRemembered <= now; });
    if (std::ssize(failures) >= kMostFailures) avoided.insert(host);
  }
  if (2 * std::ssize(avoided) > all_nodes) avoided.clear();
  return avoided;
}

std::string BadNodes::WhyAvoided(const std::string& host) {
  return StrCat(host, " is avoided for ", kRemembered.count(), " minutes, since ", kMostFailures,
                " containers failed there");
}

}  // namespace tony
