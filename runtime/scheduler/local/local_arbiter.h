// The locks of keeper and AM say who lives, the boot id whether the machine does.
#pragma once

#include "runtime/scheduler/arbiter.h"

namespace tony {

class LocalArbiter : public Arbiter {
 public:
  ArbiterView Look(const JobFolder& folder) const override;
  Result<std::optional<JobStatus>> UnwrittenEnd(const JobFolder& folder) const override;
  Status Settle(const JobFolder& folder) const override;
  std::string WhyItEnds(const JobFolder& folder) const override;
};

}  // namespace tony
