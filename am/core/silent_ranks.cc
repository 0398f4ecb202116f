#include "am/core/silent_ranks.h"

#include <algorithm>
#include <map>

#include "runtime/base/strings.h"
#include "runtime/framework/framework.h"

namespace tony::am {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The numbers at the begin of a list as " 1, 3 and" or "[0, 2] joined".
std::vector<int> NumbersAt(std::string_view text) {
  std::vector<int> numbers;
  for (size_t at = 0; at < text.size();) {
    if (!IsDigit(text[at])) {
      if (std::string_view(" \t\n,:-[]").find(text[at]) == std::string_view::npos) break;
      if (text[at++] == ']' && !numbers.empty()) break;
      continue;
    }
    size_t end = at;
    while (end < text.size() && IsDigit(text[end])) ++end;
    constexpr size_t kMostDigits = 6;
    if (end - at <= kMostDigits) numbers.push_back(static_cast<int>(*ParseInt(text.substr(at, end - at))));
    at = end;
  }
  return numbers;
}

}  // namespace

std::vector<int> SilentRanks(std::string_view text) {
  constexpr size_t kNear = 400;
  if (const size_t end = text.find(" failed to pass monitoredBarrier"); end != std::string_view::npos) {
    const std::string_view before = text.substr(end - std::min(end, kNear), std::min(end, kNear));
    const size_t begin = before.rfind("Rank");
    if (begin != std::string_view::npos)
      return NumbersAt(before.substr(begin + (before.substr(begin).starts_with("Ranks") ? 5 : 4)));
  }
  for (const std::string_view phrase :
       {"ranks that caused the desync are:", "waiting for ranks", "waiting on ranks", "missing ranks"}) {
    const size_t at = text.find(phrase);
    if (at != std::string_view::npos) return NumbersAt(text.substr(at + phrase.size(), kNear));
  }
  return {};
}

std::optional<TaskId> TaskOfRank(const JobSpec& spec, int rank) {
  std::map<int, std::pair<TaskId, int>> in_order;
  for (const RoleSpec& role : spec.roles) {
    for (int i = 0; role.completion == Completion::kTracked && i < role.instances; ++i)
      in_order[GlobalRank(spec, {role.name, i})] = {TaskId{role.name, i}, role.processes};
  }
  for (const auto& [place, task] : in_order) {
    if (rank < task.second) return task.first;
    rank -= task.second;
  }
  return std::nullopt;
}

}  // namespace tony::am
