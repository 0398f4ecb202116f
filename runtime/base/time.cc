#include "runtime/base/time.h"

#include <cstdio>
#include <ctime>

namespace tony {

std::string ToIso8601(Instant t) {
  const int64_t ms = ToMillis(t);
  const std::time_t seconds = static_cast<std::time_t>(ms / 1000);
  std::tm tm{};
  gmtime_r(&seconds, &tm);
  char day[32];
  std::strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &tm);
  char text[48];
  std::snprintf(text, sizeof text, "%s.%03dZ", day, static_cast<int>(ms % 1000));
  return text;
}

Instant RealClock::Now() const {
  using std::chrono::duration_cast;
  static const auto wall = duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch());
  static const auto steady = std::chrono::steady_clock::now();
  return Instant(wall + duration_cast<Duration>(std::chrono::steady_clock::now() - steady));
}

}  // namespace tony
