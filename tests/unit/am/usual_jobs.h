// Jobs with which many tests of the AM's core begin.
#pragma once

#include "tests/support/job_builder.h"

namespace tony::am {

using enum RestartScope;

inline JobSpec TwoWorkers() { return JobBuilder().Role("worker", 2).Build(); }

// A standalone job: no task is connected to another, so each task restarts alone.
inline JobBuilder Alone() { return JobBuilder().Role("worker", 2).Framework(FrameworkKind::kStandalone); }

// A collective with a board: only the board restarts alone.
inline JobBuilder Collective() {
  return JobBuilder().Role("worker", 2).Role("board", 1, Completion::kSidecar).Framework(FrameworkKind::kPytorch);
}

}  // namespace tony::am
