// Points in time and lengths of time. Lengths are chrono types, instead of ints with a unit in their name.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/strings.h"

namespace tony {

using Duration = std::chrono::milliseconds;
// Wall time, because journals and leases outlive a process. Pure cores receive the time as an argument called `now`.
using Instant = std::chrono::sys_time<Duration>;

inline int64_t ToMillis(Instant t) { return t.time_since_epoch().count(); }
inline Instant FromMillis(int64_t ms) { return Instant(Duration(ms)); }
std::string ToIso8601(Instant t);  // e.g. "2026-11-21T09:30:15.123Z"
// Parses exactly what ToIso8601() writes. nullopt: any other text, or a date that does not exist.
std::optional<Instant> InstantFromIso8601(std::string_view text);
// Returns e.g. "0.4 s", "3 min 20 s", "2 h 5 min", "3 d 4 h".
std::string HumanDuration(Duration length);

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant Now() const = 0;
};

// The wall time when the process started plus the time since, including the machine's sleep. The clock never steps
// while the process lives, whatever happens to the machine's clock. All RealClocks of a process show the same time.
class RealClock : public Clock {
 public:
  Instant Now() const override;
  // Sets the time for the whole process. Must be called before the process uses the clock.
  static void Set(Instant now);
};

// Includes the machine's sleep, and cannot be stepped.
Duration SinceBoot();
// Wall time, which may be stepped at any time. Used for comparison with times that another boot or host has written.
Instant WallNow();

// The clock that a job's AMs share: the time by which it is ahead of SinceBoot(), on one boot of the machine.
struct KeptClock {
  std::string boot;  // BootId(); "": unknown
  Duration ahead{0};
};

// Returns text for people, e.g. "1.5 s".
inline std::string Seconds(Duration d) { return StrCat(d.count() / 1000, ".", d.count() % 1000 / 100, " s"); }

}  // namespace tony
