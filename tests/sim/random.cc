#include "tests/sim/random.h"

#include <bit>

#include "runtime/base/check.h"

namespace tony::sim {

Random::Random(uint64_t seed) {
  for (uint64_t& word : state_) {
    uint64_t z = seed += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    word = z ^ (z >> 31);
  }
}

uint64_t Random::Next() {
  const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

// The remainder's bias is below one in 10^15 for the small ranges of a simulation.
int64_t Random::Between(int64_t low, int64_t high) {
  CHECK(low <= high);
  return low + static_cast<int64_t>(Next() % (static_cast<uint64_t>(high - low) + 1));
}

Duration Random::Between(Duration low, Duration high) { return Duration(Between(low.count(), high.count())); }

}  // namespace tony::sim
