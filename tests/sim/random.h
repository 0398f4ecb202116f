// The simulator's own random numbers (xoshiro256**, seeded by splitmix64). They are equal on every machine and with
// every library.
#pragma once

#include <cstdint>

#include "runtime/base/time.h"

namespace tony::sim {

class Random {
 public:
  explicit Random(uint64_t seed);

  uint64_t Next();
  int64_t Between(int64_t low, int64_t high);     // both bounds are included
  Duration Between(Duration low, Duration high);  // both bounds are included
  bool Chance(int64_t per_mille) { return Between(1, 1000) <= per_mille; }
  // Returns a generator of its own, so that draws of one part of the run do not shift those of another part.
  Random Fork() { return Random(Next()); }

 private:
  uint64_t state_[4];
};

}  // namespace tony::sim
