#include "runtime/job/checkpoint.h"

#include <tuple>

namespace tony {

bool IsNewer(const Checkpoint& left, const Checkpoint& right) {
  return std::tie(left.step, left.modified, left.path) > std::tie(right.step, right.modified, right.path);
}

}  // namespace tony
