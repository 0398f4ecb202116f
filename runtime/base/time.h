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
// A point in time is wall time, because journals and leases outlive a process. Pure cores receive the time as an
// argument called `now`.
using Instant = std::chrono::sys_time<Duration>;

inline int64_t ToMillis(Instant t) { return t.time_since_epoch().count(); }
inline Instant FromMillis(int64_t ms) { return Instant(Duration(ms)); }
std::string ToIso8601(Instant t);  // e.g. "2026-11-21T09:30:15.123Z"
// Parses a text in the form that ToIso8601() writes. nullopt: the text has another form, or the date does not exist.
std::optional<Instant> InstantFromIso8601(std::string_view text);
// Returns the length for people, e.g. "0.4 s", "3 min 20 s", "2 h 5 min", "3 d 4 h".
std::string HumanDuration(Duration length);

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant Now() const = 0;
};

// Shows the wall time at the start of the process plus the time that has passed since, including the machine's sleep.
// The clock never steps while the process lives, even if the machine's clock is set. All RealClocks of a process show
// the same time.
class RealClock : public Clock {
 public:
  Instant Now() const override;
  // Sets the time for the whole process. Must be called before the process uses the clock.
  static void Set(Instant now);
};

// Returns the time since the machine booted, including the machine's sleep. This clock cannot be stepped.
Duration SinceBoot();
// Returns the machine's wall time, which may be stepped at any time. Used for comparison with times that another boot
// or host has written.
Instant WallNow();

// The state of the clock that a job's AMs share: the time by which this clock is ahead of SinceBoot(). The state is
// valid on one boot of the machine.
struct KeptClock {
  std::string boot;  // BootId(); "": unknown
  Duration ahead{0};
};

// Returns the length in seconds for people, e.g. "1.5 s".
inline std::string Seconds(Duration d) { return StrCat(d.count() / 1000, ".", d.count() % 1000 / 100, " s"); }

}  // namespace tony
