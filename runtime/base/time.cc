#include "runtime/base/time.h"

#include <algorithm>
#include <cstdio>

namespace tony {

namespace {

// What four digits of a year hold. No clock tells an instant beyond them, but a file may.
constexpr Instant kFirst = std::chrono::sys_days(std::chrono::year(0) / 1 / 1);
constexpr Instant kLast = std::chrono::sys_days(std::chrono::year(9999) / 12 / 31) + std::chrono::days(1) - Duration(1);

}  // namespace

std::string ToIso8601(Instant t) {
  const Instant shown = std::clamp(t, kFirst, kLast);
  const auto day = std::chrono::floor<std::chrono::days>(shown);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss<Duration> time(shown - day);
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                static_cast<int>(time.seconds().count()), static_cast<int>(time.subseconds().count()));
  return text;
}

Instant RealClock::Now() const {
  using std::chrono::duration_cast;
  static const auto wall = duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch());
  static const auto steady = std::chrono::steady_clock::now();
  return Instant(wall + duration_cast<Duration>(std::chrono::steady_clock::now() - steady));
}

}  // namespace tony
