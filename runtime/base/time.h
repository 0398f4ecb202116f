// Points in time and lengths of time. Durations are chrono types; no int carries a unit in its name.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/strings.h"

namespace tony {

using Duration = std::chrono::milliseconds;
// Wall time, because journals and leases outlive a process. Pure cores get it as an argument called `now`.
using Instant = std::chrono::sys_time<Duration>;

inline int64_t ToMillis(Instant t) { return t.time_since_epoch().count(); }
inline Instant FromMillis(int64_t ms) { return Instant(Duration(ms)); }
std::string ToIso8601(Instant t);  // "2026-11-21T09:30:15.123Z"
// Exactly what ToIso8601() writes; anything else, and a date that does not exist, is nothing.
std::optional<Instant> InstantFromIso8601(std::string_view text);
std::string HumanDuration(Duration length);  // "0.4 s", "3 min 20 s", "2 h 5 min", "3 d 4 h"

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant Now() const = 0;
};

// Wall time when the process started plus what has passed since, the machine's sleep included: it never steps while the
// process lives, whatever is done to the machine's clock. All of a process have one.
class RealClock : public Clock {
 public:
  Instant Now() const override;
  static void Set(Instant now);  // for the whole process, before it uses the clock
};

Duration SinceBoot();  // counts the machine's sleep, and nobody can step it
Instant WallNow();     // may be stepped at any time; to compare with what another boot or host has written

// The clock that a job's AMs share: how far it is ahead of SinceBoot(), on that boot of the machine.
struct KeptClock {
  std::string boot;  // BootId(); "": not known
  Duration ahead{0};
};

// For people: "1.5 s".
inline std::string Seconds(Duration d) { return StrCat(d.count() / 1000, ".", d.count() % 1000 / 100, " s"); }

}  // namespace tony
