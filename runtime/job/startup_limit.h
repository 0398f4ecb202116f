// How long a job's first application master may take to start: for whoever waits for it, the keeper on one machine and
// the client on a cluster.
#pragma once

#include <algorithm>
#include <string>

#include "runtime/base/seconds.h"
#include "runtime/base/strings.h"
#include "runtime/base/time.h"

namespace tony {

inline constexpr std::string_view kStartupTimeoutKey = "tony.am.startup-timeout";

// What such a job's end begins with, also in a cluster's own words.
inline constexpr std::string_view kStartedTooLate = "the application master had not started";

// `waits`: why, as far as that is known.
inline std::string StartedTooLate(Duration passed, Duration limit, const std::string& waits) {
  return StrCat(kStartedTooLate, " ", Seconds(passed), " after the submission (", kStartupTimeoutKey, "=",
                limit.count(), ")", waits.empty() ? "" : ": the job ", waits);
}

// Of the limit since the submission, by the wall clock, which may have stepped meanwhile.
inline Duration SpentOf(Duration limit, Instant submitted, Instant now) {
  return std::clamp(now - submitted, Duration(0), limit);
}

}  // namespace tony
