#include "runtime/base/time.h"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdio>

namespace tony {

namespace {

// The first and the last instant that a year of four digits can express. No clock shows an instant outside of this
// range, but a file may contain one.
constexpr Instant kFirst = std::chrono::sys_days(std::chrono::year(0) / 1 / 1);
constexpr Instant kLast = std::chrono::sys_days(std::chrono::year(9999) / 12 / 31) + std::chrono::days(1) - Duration(1);

Duration Read(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return Duration(int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000);
}

// The time by which RealClock is ahead of SinceBoot().
std::atomic<Duration>& Ahead() {
  static std::atomic<Duration> ahead{WallNow().time_since_epoch() - SinceBoot()};
  return ahead;
}

constexpr std::string_view kInstantForm = "dddd-dd-ddTdd:dd:dd.dddZ";

bool HasInstantForm(std::string_view text) {
  if (text.size() != kInstantForm.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kInstantForm[i] == 'd' ? !digit : text[i] != kInstantForm[i]) return false;
  }
  return true;
}

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

std::optional<Instant> InstantFromIso8601(std::string_view text) {
  if (!HasInstantForm(text)) return std::nullopt;
  const auto number = [text](size_t begin, size_t length) {
    return static_cast<int>(ParseInt(text.substr(begin, length)).value_or(0));
  };
  const std::chrono::year_month_day day{std::chrono::year(number(0, 4)),
                                        std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                        std::chrono::day(static_cast<unsigned>(number(8, 2)))};
  const int hour = number(11, 2), minute = number(14, 2), second = number(17, 2);
  if (!day.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  return std::chrono::sys_days(day) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
         std::chrono::seconds(second) + Duration(number(20, 3));
}

Duration SinceBoot() { return Read(CLOCK_BOOTTIME); }
Instant WallNow() { return Instant(Read(CLOCK_REALTIME)); }
Instant RealClock::Now() const { return Instant(Ahead().load() + SinceBoot()); }
void RealClock::Set(Instant now) { Ahead() = now.time_since_epoch() - SinceBoot(); }

std::string HumanDuration(Duration length) {
  const int64_t ms = std::max<int64_t>(0, length.count());
  const int64_t seconds = ms / 1000;
  if (seconds < 60) return StrCat(seconds, ".", ms % 1000 / 100, " s");
  if (seconds < 3600) return StrCat(seconds / 60, " min ", seconds % 60, " s");
  if (seconds < 86400) return StrCat(seconds / 3600, " h ", seconds % 3600 / 60, " min");
  return StrCat(seconds / 86400, " d ", seconds % 86400 / 3600, " h");
}

}  // namespace tony
