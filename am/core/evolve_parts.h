// What the parts of Job share.
#pragma once

#include <string>

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/job/outcome.h"

namespace tony::am {

// An executor that has been told to leave, or whose grace is over, gets this long before its container is ended.
// Its own KILL, the reaping and one report fit in well under a second; the rest is for a busy machine.
inline constexpr Duration kLeaveLimit{5000};
// How long the scheduler's word that a container is gone is waited for, after it was ordered killed or told to leave.
inline constexpr Duration kConfirmLimit{15'000};

// It ended for a reason of its executor, container or node, not of its program's. A signal that somebody sent to the
// program alone leaves its executor as it was.
inline bool WasTakenAway(const Outcome& outcome) {
  const bool is_infra = outcome.cls == OutcomeClass::kInfra && outcome.source != Source::kSignal;
  return is_infra || outcome.cls == OutcomeClass::kNodeLost || outcome.cls == OutcomeClass::kPreempted;
}

// The decision does not fit the state.
inline Error Misfit(const std::string& what) { return {ErrorCode::kInvalid, what}; }

}  // namespace tony::am
