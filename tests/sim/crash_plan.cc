#include "tests/sim/crash_plan.h"

#include <algorithm>

namespace tony::sim {

size_t CrashPlan::LeftOf(size_t bytes) {
  const auto by_chance = static_cast<size_t>(random_.Between(0, static_cast<int64_t>(bytes)));
  return std::min(bytes, stage_.plan.am.torn_to.value_or(by_chance));
}

bool CrashPlan::CrashesNow() {
  ++step_;
  if (!MayCrash()) return false;
  const AmPlan& plan = stage_.plan.am;
  const bool planned = std::ranges::count(plan.crash_at_steps, step_) > 0;
  const bool by_chance = stage_.MayFail() && random_.Chance(plan.crashes_per_mille);
  if (planned || by_chance) Count();
  return planned || by_chance;
}

}  // namespace tony::sim
