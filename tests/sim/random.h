// The simulator's own random numbers (xoshiro256**, seeded by splitmix64): the same on every machine and library.
#pragma once

#include <cstdint>

#include "runtime/base/time.h"

namespace tony::sim {

class Random {
 public:
  explicit Random(uint64_t seed);

  uint64_t Next();
  int64_t Between(int64_t low, int64_t high);     // both are possible
  Duration Between(Duration low, Duration high);  // both are possible
  bool Chance(int64_t per_mille) { return Between(1, 1000) <= per_mille; }
  Random Fork() { return Random(Next()); }  // a stream of its own: what one part draws does not shift another's

 private:
  uint64_t state_[4];
};

}  // namespace tony::sim
