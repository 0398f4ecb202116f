// Computes the resource usage of an attempt from samples of its process tree. Pure arithmetic; usage_watch.h takes the
// samples.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/base/time.h"
#include "runtime/job/outcome.h"

namespace tony::executor {

struct TreeSample {
  int processes = 0;
  // The private memory of all processes together, plus the largest shared memory of a single process.
  int64_t memory_bytes = 0;
  // CPU time since the attempt's start. Ended processes are included.
  Duration cpu{0};
  // The largest resident memory that any ended process ever had; 0: unknown.
  int64_t peak_ended_bytes = 0;
};

// An interval of an attempt's life.
struct UsagePoint {
  // The end of the interval, measured from the attempt's start.
  Duration at{0};
  Duration length{0};
  int64_t mean_memory_bytes = 0;
  int64_t most_memory_bytes = 0;
  int64_t mean_millicores = 0;
};

// The resource usage of an attempt over time, in at most 60 points. When more points are needed, neighbouring points
// are joined in pairs, and each later point covers twice the time.
class UsageSeries {
 public:
  // Adds the interval that follows the previous one.
  void Add(const UsagePoint& stretch);
  const std::vector<UsagePoint>& points() const { return points_; }  // the last point may still grow

 private:
  std::vector<UsagePoint> points_;
  Duration span_{1000};  // length of a complete point
};

class UsageMeter {
 public:
  explicit UsageMeter(Instant start) : start_(start), last_(start) {}

  void Add(const TreeSample& sample, Instant now);
  // Returns a copy of this meter that includes `rest`, a sample taken when all processes had ended.
  UsageMeter Ended(const TreeSample& rest, Instant now) const;

  const Usage& usage() const { return usage_; }
  const UsageSeries& series() const { return series_; }

 private:
  void Account(const TreeSample& sample, Instant now);

  Instant start_;
  Instant last_;  // time of the previous sample
  // The sum of bytes x milliseconds. The type is double, because the sum may exceed an integer.
  double weighted_memory_ = 0;
  Usage usage_;
  UsageSeries series_;
};

}  // namespace tony::executor
