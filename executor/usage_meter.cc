#include "executor/usage_meter.h"

#include <algorithm>

namespace tony::executor {
namespace {

constexpr size_t kMostPoints = 60;

// The shortest interval for which the share of a core is computed. The kernel counts CPU time in ticks of 10 ms, so the
// share would be mostly error in a shorter interval.
constexpr Duration kShortestForCores{100};

double Weight(Duration length) { return static_cast<double>(length.count()); }

int64_t Mean(int64_t a, int64_t b, Duration of_a, Duration of_b) {
  const double sum = static_cast<double>(a) * Weight(of_a) + static_cast<double>(b) * Weight(of_b);
  return static_cast<int64_t>(sum / std::max(1.0, Weight(of_a + of_b)));
}

// Returns one point that covers `a` and the point `b` that follows.
UsagePoint Joined(const UsagePoint& a, const UsagePoint& b) {
  return {.at = b.at,
          .length = a.length + b.length,
          .mean_memory_bytes = Mean(a.mean_memory_bytes, b.mean_memory_bytes, a.length, b.length),
          .most_memory_bytes = std::max(a.most_memory_bytes, b.most_memory_bytes),
          .mean_millicores = Mean(a.mean_millicores, b.mean_millicores, a.length, b.length)};
}

}  // namespace

void UsageSeries::Add(const UsagePoint& stretch) {
  if (!points_.empty() && points_.back().length < span_) {
    points_.back() = Joined(points_.back(), stretch);
    return;
  }
  if (points_.size() == kMostPoints) {
    for (size_t i = 0; i < kMostPoints / 2; ++i) points_[i] = Joined(points_[2 * i], points_[2 * i + 1]);
    points_.resize(kMostPoints / 2);
    span_ *= 2;
  }
  points_.push_back(stretch);
}

void UsageMeter::Add(const TreeSample& sample, Instant now) {
  ++usage_.samples;
  usage_.memory_bytes = sample.memory_bytes;
  usage_.most_memory_bytes = std::max(usage_.most_memory_bytes, sample.memory_bytes);
  Account(sample, now);
}

UsageMeter UsageMeter::Ended(const TreeSample& rest, Instant now) const {
  UsageMeter all = *this;
  all.Account(rest, now);
  return all;
}

// Each sample's memory counts for the time since the previous sample. For the time after the last sample, the memory
// counts as unchanged.
void UsageMeter::Account(const TreeSample& sample, Instant now) {
  const Duration length = std::max(Duration(0), now - last_);
  // The kernel drops the CPU time of processes whose parent never waits for them, so the sum may shrink. CPU time that
  // was counted before stays counted.
  const Duration spent = std::max(Duration(0), sample.cpu - usage_.cpu);
  usage_.cpu += spent;
  last_ += length;
  usage_.elapsed = last_ - start_;
  weighted_memory_ += static_cast<double>(usage_.memory_bytes) * Weight(length);
  if (usage_.samples > 0)
    usage_.mean_memory_bytes = static_cast<int64_t>(weighted_memory_ / std::max(1.0, Weight(usage_.elapsed)));
  usage_.most_memory_bytes = std::max(usage_.most_memory_bytes, sample.peak_ended_bytes);
  const int64_t millicores = spent * 1000 / std::max(length, Duration(1));
  if (length >= kShortestForCores) {
    usage_.millicores = millicores;
    usage_.most_millicores = std::max(usage_.most_millicores, millicores);
  }
  if (length > Duration(0)) {
    series_.Add({.at = usage_.elapsed,
                 .length = length,
                 .mean_memory_bytes = usage_.memory_bytes,
                 .most_memory_bytes = usage_.memory_bytes,
                 .mean_millicores = millicores});
  }
}

}  // namespace tony::executor
