#include "runtime/hadoop/yarn_records.h"

#include <algorithm>

#include "runtime/base/strings.h"

namespace tony::hadoop {
namespace {

constexpr int kContainerBits = 40;  // ContainerId.CONTAINER_ID_BITMASK
constexpr int64_t kContainerMask = (int64_t{1} << kContainerBits) - 1;
constexpr int64_t kMostEpoch = (int64_t{1} << (63 - kContainerBits)) - 1;

std::string Padded(int64_t number, size_t width) {
  const std::string digits = std::to_string(number);
  return std::string(width - std::min(width, digits.size()), '0') + digits;
}

std::string Tail(const ApplicationId& id) { return StrCat(id.cluster_timestamp, "_", Padded(id.number, 4)); }

// Returns `count` numbers from index `first` of `parts` on, such as {1700000000000, 1}. nullopt if `parts` has another
// form.
std::optional<std::vector<int64_t>> Numbers(const std::vector<std::string>& parts, size_t first, size_t count) {
  if (parts.size() != first + count) return std::nullopt;
  std::vector<int64_t> numbers;
  for (size_t i = first; i < parts.size(); ++i) {
    const auto number = ParseInt(parts[i]);
    const bool is_small = i == first || (number && *number <= INT32_MAX) || i + 1 == parts.size();
    if (!number || *number < 0 || !is_small) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

}  // namespace

std::string ToString(const ApplicationId& id) { return "application_" + Tail(id); }
std::string ToString(const AttemptId& id) {
  return StrCat("appattempt_", Tail(id.application), "_", Padded(id.number, 6));
}
std::string ToString(const ContainerId& id) {
  const int64_t epoch = id.number >> kContainerBits;
  return StrCat("container_", epoch > 0 ? StrCat("e", Padded(epoch, 2), "_") : "", Tail(id.attempt.application), "_",
                Padded(id.attempt.number, 2), "_", Padded(id.number & kContainerMask, 6));
}
std::string ToString(const NodeId& id) { return StrCat(id.host, ":", id.port); }

std::optional<ApplicationId> ParseApplicationId(std::string_view text) {
  const std::vector<std::string> parts = Split(text, '_');
  const auto numbers = Numbers(parts, 1, 2);
  if (!numbers || parts[0] != "application" || (*numbers)[1] > INT32_MAX) return std::nullopt;
  return ApplicationId{(*numbers)[0], static_cast<int32_t>((*numbers)[1])};
}

std::optional<ContainerId> ParseContainerId(std::string_view text) {
  std::vector<std::string> parts = Split(text, '_');
  int64_t epoch = 0;
  if (parts.size() > 1 && parts[1].starts_with('e')) {
    const auto number = ParseInt(parts[1].substr(1));
    if (!number || *number < 0 || *number > kMostEpoch) return std::nullopt;
    epoch = *number;
    parts.erase(parts.begin() + 1);
  }
  const auto numbers = Numbers(parts, 1, 4);
  if (!numbers || parts[0] != "container" || (*numbers)[3] > kContainerMask) return std::nullopt;
  const AttemptId attempt{{(*numbers)[0], static_cast<int32_t>((*numbers)[1])}, static_cast<int32_t>((*numbers)[2])};
  return ContainerId{attempt, epoch << kContainerBits | (*numbers)[3]};
}

}  // namespace tony::hadoop
