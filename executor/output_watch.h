// Since when an attempt has written nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "runtime/base/time.h"

namespace tony::executor {

class OutputWatch {
 public:
  // To these files, from `start` on.
  OutputWatch(std::vector<std::filesystem::path> logs, Instant start);

  Duration Quiet(Instant now);

 private:
  const std::vector<std::filesystem::path> logs_;
  int64_t written_ = 0;
  Instant looked_, wrote_;
};

}  // namespace tony::executor
