// Where the AM crashes: after any of its steps, counted over all its incarnations.
#pragma once

#include <cstdint>
#include <map>

#include "tests/sim/stage.h"

namespace tony::sim {

class CrashPlan {
 public:
  explicit CrashPlan(Stage& stage) : stage_(stage), random_(stage.random.Fork()) {}

  bool CrashesNow();            // one step further: after this one?
  size_t LeftOf(size_t bytes);  // of a batch that was being written
  bool MayCrash() const { return crashes_ < stage_.plan.am.most_crashes; }
  void Count() { ++crashes_; }

  int64_t steps() const { return step_; }
  void AddWrite(size_t bytes) { writes_[step_] = bytes; }
  const std::map<int64_t, size_t>& writes() const { return writes_; }  // which steps those are

 private:
  Stage& stage_;
  Random random_;
  int64_t step_ = 0;
  int crashes_ = 0;
  std::map<int64_t, size_t> writes_;
};

}  // namespace tony::sim
