// When a kill or a watch timeout ends a job: for the AM, and for the keeper of a job that no AM can rule.
#pragma once

#include <string>

#include "runtime/base/seconds.h"
#include "runtime/base/strings.h"
#include "runtime/job/claim.h"
#include "runtime/job/outcome.h"

namespace tony {

// Whether the condition of `request` holds for a job with this owner and this newest watcher.
inline bool Holds(const KillRequest& request, const OwnerToken& owner, const WatcherToken& watcher) {
  const bool same_owner = request.if_owner.value.empty() || request.if_owner == owner;
  const bool same_watcher = request.if_watcher.value.empty() || request.if_watcher == watcher;
  return same_owner && same_watcher;
}

inline Verdict Abandoned(Duration watch_timeout) {
  return {.state = FinalState::kKilled,
          .cls = OutcomeClass::kAbandoned,
          .message = StrCat("nobody has asked for the job for ", Seconds(watch_timeout), " (watch timeout)")};
}

}  // namespace tony
