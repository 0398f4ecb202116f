#include "runtime/job/published_values.h"

#include <algorithm>

#include "runtime/base/strings.h"

namespace tony {

bool IsValueName(std::string_view name) {
  constexpr size_t kLongestName = 64;
  const auto is_letter = [](char c) { return c >= 'A' && c <= 'Z'; };
  if (name.empty() || name.size() > kLongestName || !is_letter(name.front())) return false;
  return std::ranges::all_of(name, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; });
}

size_t LongestValue(std::string_view name) {
  return name == kModelParams ? kLongestModelParams : kLongestPublishedValue;
}

bool IsPublishable(std::string_view name, std::string_view value) {
  const auto is_control = [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; };
  return value.size() <= LongestValue(name) && std::ranges::none_of(value, is_control) && IsUtf8(value);
}

PublishedValues ParsePublished(std::string_view text, const std::vector<std::string>& names) {
  PublishedValues values;
  for (size_t end = text.find('\n'); end != text.npos; text.remove_prefix(end + 1), end = text.find('\n')) {
    const std::string_view line = text.substr(0, end);
    const size_t equals = line.find('=');
    if (equals == line.npos) continue;
    std::string name(line.substr(0, equals));
    if (!IsPublishable(name, line.substr(equals + 1))) continue;
    if (std::ranges::find(names, name) != names.end()) values.emplace(std::move(name), line.substr(equals + 1));
  }
  return values;
}

}  // namespace tony
