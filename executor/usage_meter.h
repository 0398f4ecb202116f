// What an attempt has used, from samples of its process tree. Pure arithmetic; reading is usage_watch.h.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/base/time.h"
#include "runtime/job/outcome.h"

namespace tony::executor {

struct TreeSample {
  int processes = 0;
  int64_t memory_bytes = 0;      // what each process has for itself, and the largest part that one shares
  Duration cpu{0};               // since the attempt's start, of ended processes too
  int64_t most_ended_bytes = 0;  // most that any one of the ended processes ever had resident; 0: not known
};

// A stretch of an attempt's life.
struct UsagePoint {
  Duration at{0};  // its end, since the attempt's start
  Duration length{0};
  int64_t mean_memory_bytes = 0;
  int64_t most_memory_bytes = 0;
  int64_t mean_millicores = 0;
};

// The course of an attempt in at most 60 points: when there are more, each two become one and from then on each point
// stands for twice as long.
class UsageSeries {
 public:
  void Add(const UsagePoint& stretch);                               // that follows the one before
  const std::vector<UsagePoint>& points() const { return points_; }  // the last one may still grow

 private:
  std::vector<UsagePoint> points_;
  Duration span_{1000};  // a point that is so long is complete
};

class UsageMeter {
 public:
  explicit UsageMeter(Instant start) : start_(start), last_(start) {}

  void Add(const TreeSample& sample, Instant now);
  // As if `rest`, taken when all processes had ended, had been added; changes nothing.
  UsageMeter Ended(const TreeSample& rest, Instant now) const;

  const Usage& usage() const { return usage_; }
  const UsageSeries& series() const { return series_; }

 private:
  void Account(const TreeSample& sample, Instant now);

  Instant start_;
  Instant last_;                // of the sample before
  double weighted_memory_ = 0;  // bytes x milliseconds: too much for an integer
  Usage usage_;
  UsageSeries series_;
};

}  // namespace tony::executor
