// Reads from /proc what the descendants of this process use. It looks at nobody else's: the tree is walked by the
// lists of children that the kernel keeps.
#pragma once

#include <cstdint>

#include "executor/usage_meter.h"
#include "runtime/base/time.h"

namespace tony::executor {

// Of one attempt: made when its process has been started. This process is a subreaper that has no children but the
// attempt's, so whatever the attempt started is among its descendants, and who has ended is in what the kernel
// counted for reaped children.
//
// Memory that processes share after a fork and have not written to since counts for each of them.
class UsageSampler {
 public:
  UsageSampler();
  TreeSample Sample() const;

 private:
  Duration cpu_before_;        // of children that were reaped earlier
  int64_t most_before_bytes_;  // the largest of them
};

}  // namespace tony::executor
