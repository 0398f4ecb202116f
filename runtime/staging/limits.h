// How much staging takes before it takes something for a mistake or an attack.
#pragma once

#include <cstdint>

namespace tony {

// A Python environment with everything in it has 200,000 files; a file system of 100 GB has 6 million inodes.
constexpr int64_t kMostEntries = 500'000;
// Larger data belongs on a disk that the tasks read, not in an archive that is unpacked for them.
constexpr int64_t kMostUnpacked = int64_t{128} << 30;
// Programs, tables and logs shrink to a twentieth at best; a bomb to a thousandth, and to less where archives overlap.
// Below the free allowance nobody cares: a small file of zeros is not an attack.
constexpr int64_t kMostRatio = 250;
constexpr int64_t kFreeOfRatio = int64_t{1} << 30;
// What staging leaves free, since other programs and the jobs themselves write to this disk: so much, but never more
// than this part of a small one.
constexpr int64_t kLeaveFree = int64_t{256} << 20;
constexpr int64_t kLeaveFreePart = 20;

struct UnpackLimits {
  int64_t entries = kMostEntries;
  int64_t bytes = kMostUnpacked;
  int64_t ratio = kMostRatio;
  int64_t free_of_ratio = kFreeOfRatio;
};

}  // namespace tony
