// The policy of hangs: who stopped writing first, when a job is ended for the time it took.
#include <algorithm>

#include "am/core/job.h"
#include "runtime/base/seconds.h"
#include "runtime/base/strings.h"

namespace tony::am {
namespace {

constexpr Duration kWorthTelling{1000};
constexpr size_t kNamed = 5;

}  // namespace

// In a collective that hangs all fall silent one after the other, the cause first. So those are named that have been
// silent for at least half as long as the first one, if there are any: "; silent: worker:3 for 58.1 s".
std::string Job::WhoWasSilent(Instant now) const {
  std::vector<std::pair<Duration, TaskId>> silent;
  for (const auto& [id, task] : tasks_) {
    const Attempt* attempt = task.newest();
    if (!attempt || attempt->state != AttemptState::kRunning || !attempt->usage || !attempt->started) continue;
    const Instant wrote = *attempt->started + attempt->usage->elapsed - attempt->usage->quiet;
    silent.emplace_back(now - wrote, id);
  }
  std::ranges::sort(silent, [](const auto& a, const auto& b) { return a.first > b.first; });
  if (silent.empty() || silent.front().first < kWorthTelling) return "";
  const Duration least = silent.front().first / 2;
  std::erase_if(silent, [&](const auto& entry) { return entry.first < least; });
  std::vector<std::string> named;
  for (size_t i = 0; i < std::min(kNamed, silent.size()); ++i)
    named.push_back(StrCat(ToString(silent[i].second), " for ", Seconds(silent[i].first)));
  const std::string more = silent.size() > kNamed ? StrCat(" and ", silent.size() - kNamed, " more") : "";
  return StrCat("; silent: ", Join(named, ", "), more);
}

}  // namespace tony::am
