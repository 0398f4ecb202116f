// Plans made from seeds.
#pragma once

#include "tests/sim/plan.h"

namespace tony::sim {

Plan PlanFor(uint64_t seed);

}  // namespace tony::sim
