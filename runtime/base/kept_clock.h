#pragma once

#include <string>

#include "runtime/base/time.h"

namespace tony {

// The clock that a job's AMs share: how far it is ahead of SinceBoot(), on that boot of the machine.
struct KeptClock {
  std::string boot;  // BootId(); "": not known
  Duration ahead{0};
};

}  // namespace tony
