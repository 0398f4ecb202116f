// What an operator asks of a scheduler, beyond single jobs.
#pragma once

#include "runtime/backend/garbage.h"
#include "runtime/backend/health.h"
#include "runtime/backend/queue_view.h"
#include "runtime/base/result.h"

namespace tony {

// Has no state; any thread.
class Operations {
 public:
  virtual ~Operations() = default;
  virtual Result<QueueView> Queue() const = 0;
  // Removes what lies elsewhere and may go; what is on this machine the caller removes.
  virtual Result<Garbage> CollectGarbage(const GarbageOrder&) const { return Garbage(); }
  virtual Checks Doctor() const = 0;  // what stands in the way of jobs, and what to do
};

}  // namespace tony
