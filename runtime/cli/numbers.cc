#include "runtime/cli/numbers.h"

#include <charconv>
#include <cmath>
#include <map>

#include "runtime/base/strings.h"

namespace tony {
namespace {

constexpr double kLongestSeconds = 1e9;  // 30 years; more would overflow on the way to milliseconds

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
  if (const auto length = ParseAge(text)) return std::optional(*length);
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds, std::chars_format::fixed);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || !(seconds >= 0) || seconds > kLongestSeconds)
    return NotA("seconds, as in 30 or 0.5, or a time with a unit, as 10m", line, option);
  return std::optional(Duration(std::llround(seconds * 1000)));
}

std::optional<Duration> ParseAge(std::string_view text) {
  constexpr int64_t kMostSeconds = int64_t{100} * 366 * 24 * 3600;
  const std::map<char, int64_t> seconds_in = {{'d', 24 * 3600}, {'h', 3600}, {'m', 60}, {'s', 1}};
  const auto unit = seconds_in.find(text.empty() ? '\0' : text.back());
  const auto number = unit == seconds_in.end() ? std::nullopt : ParseInt(text.substr(0, text.size() - 1));
  if (!number || *number < 0 || *number > kMostSeconds / unit->second) return std::nullopt;
  return Duration(std::chrono::seconds(*number * unit->second));
}

Result<std::optional<Instant>> TimeOption(const CommandLine& line, const std::string& option, Instant now) {
  if (!line.Has(option)) return std::optional<Instant>();
  std::string text = line.Value(option);
  if (const auto age = ParseAge(text)) return std::optional(now - *age);
  // What is left out is the beginning of the day, minute or second.
  if (text.ends_with('Z')) text.pop_back();
  constexpr std::string_view kMidnight = "0000-00-00T00:00:00.000Z";
  for (const size_t size : {10, 16, 19, 23}) {
    if (text.size() != size) continue;
    if (const auto time = InstantFromIso8601(text.append(kMidnight.substr(size)))) return std::optional(*time);
  }
  return NotA("an age with d, h, m or s, as 14d, or a time in UTC, as 2026-11-21 or 2026-11-21T09:30:15Z", line,
              option);
}

}  // namespace tony
