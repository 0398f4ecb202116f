// What an attempt's processes used, as its executor measured it: the whole tree, from the start to the newest sample.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/base/time.h"

namespace tony {

struct GpuUsage {
  int64_t memory_bytes = 0;  // newest, of the attempt's GPUs together
  int64_t most_memory_bytes = 0;
  int percent = 0;  // newest, mean and most of the GPUs' mean utilisation
  int mean_percent = 0;
  int most_percent = 0;
  bool operator==(const GpuUsage&) const = default;
};

// Memory is resident: what each process has for itself, and what they share once.
struct Usage {
  int samples = 0;
  int64_t memory_bytes = 0;  // newest
  int64_t mean_memory_bytes = 0;
  int64_t most_memory_bytes = 0;
  Duration cpu{0};         // user and system time, ended processes included
  int64_t millicores = 0;  // since the sample before: 1000 is one core
  int64_t most_millicores = 0;
  Duration elapsed{0};  // since the start of the attempt's process; cpu / elapsed is the mean
  Duration quiet{0};    // since it last wrote to its stdout or stderr, or started
  std::optional<GpuUsage> gpu;
  bool operator==(const Usage&) const = default;
};

}  // namespace tony
