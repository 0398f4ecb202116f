// Keeps staging from filling the disk that others write to.
#pragma once

#include <cstdint>
#include <filesystem>
#include <utility>

#include "runtime/base/result.h"

namespace tony {

class SpaceGuard {
 public:
  explicit SpaceGuard(std::filesystem::path folder) : folder_(std::move(folder)) {}
  // Call before so many bytes are written there. kCannotWrite: too little would be left free. Looks at the disk only
  // now and then.
  Status Take(int64_t bytes);

 private:
  std::filesystem::path folder_;
  int64_t granted_ = 0;
};

}  // namespace tony
