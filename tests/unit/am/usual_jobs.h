// Jobs that many tests of the master's core begin with.
#pragma once

#include "tests/support/job_builder.h"

namespace tony::am {

using enum RestartScope;

inline JobSpec TwoWorkers() { return JobBuilder().Role("worker", 2).Build(); }

// Tasks that nobody is connected to: each comes back alone.
inline JobBuilder Alone() { return JobBuilder().Role("worker", 2).Framework(FrameworkKind::kStandalone); }

// A collective with a board: nobody comes back alone but the board.
inline JobBuilder Collective() {
  return JobBuilder().Role("worker", 2).Role("board", 1, Completion::kSidecar).Framework(FrameworkKind::kPytorch);
}

}  // namespace tony::am
