// The operations of a scheduler that concern more than a single job.
#pragma once

#include "runtime/backend/garbage.h"
#include "runtime/backend/health.h"
#include "runtime/backend/queue_view.h"
#include "runtime/base/result.h"

namespace tony {

// An Operations object has no state and may be used by any thread.
class Operations {
 public:
  virtual ~Operations() = default;
  virtual Result<QueueView> Queue() const = 0;
  // Removes garbage in other places; the caller removes the garbage on this machine.
  virtual Result<Garbage> CollectGarbage(const GarbageOrder&) const { return Garbage(); }
  // Returns the checks of `tony doctor` for this scheduler. They show what prevents jobs from running, and what to do.
  virtual Checks Doctor() const = 0;
};

}  // namespace tony
