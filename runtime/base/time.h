// Points in time and lengths of time. Durations are chrono types; no int carries a unit in its name.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace tony {

using Duration = std::chrono::milliseconds;
// Wall time, because journals and leases outlive a process. Pure cores get it as an argument called `now`.
using Instant = std::chrono::sys_time<Duration>;

inline int64_t ToMillis(Instant t) { return t.time_since_epoch().count(); }
inline Instant FromMillis(int64_t ms) { return Instant(Duration(ms)); }
std::string ToIso8601(Instant t);  // "2026-11-21T09:30:15.123Z"

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant Now() const = 0;
};

// Wall time when the process started plus the steady time since: it never goes back while the process lives.
class RealClock : public Clock {
 public:
  Instant Now() const override;
};

}  // namespace tony
