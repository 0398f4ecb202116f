#include "runtime/client/numbers.h"

#include <charconv>
#include <cmath>

#include "runtime/base/strings.h"

namespace tony {
namespace {

constexpr double kMostSeconds = 1e9;  // 30 years; more would overflow on the way to milliseconds

Error NotA(const std::string& what, const CommandLine& line, const std::string& option) {
  return {ErrorCode::kUsage, StrCat(Dashed(option), " \"", line.Value(option), "\": expected ", what)};
}

}  // namespace

Result<std::optional<int64_t>> NumberOption(const CommandLine& line, const std::string& option) {
  if (!line.Has(option)) return std::optional<int64_t>();
  const auto number = ParseInt(line.Value(option));
  if (!number || *number < 0) return NotA("a number, 0 or more", line, option);
  return number;
}

Result<std::optional<Duration>> SecondsOption(const CommandLine& line, const std::string& option) {
  if (!line.Has(option)) return std::optional<Duration>();
  const std::string text = line.Value(option);
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds, std::chars_format::fixed);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || !(seconds >= 0) || seconds > kMostSeconds) return NotA("seconds, as in 30 or 0.5", line, option);
  return std::optional(Duration(std::llround(seconds * 1000)));
}

}  // namespace tony
