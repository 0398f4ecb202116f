// Since when an attempt has written nothing.
#pragma once

#include <cstdint>
#include <filesystem>

#include "runtime/base/time.h"

namespace tony::executor {

class OutputWatch {
 public:
  // Of `stdout` and `stderr` in the folder, from `start` on.
  OutputWatch(std::filesystem::path log_folder, Instant start);

  Duration Quiet(Instant now);

 private:
  const std::filesystem::path log_folder_;
  int64_t written_ = 0;
  Instant looked_, wrote_;
};

}  // namespace tony::executor
