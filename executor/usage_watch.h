// Watches what one attempt uses while it runs: samples of its processes and GPUs, the room that its logs take, and when
// they grow. It decides nothing about the attempt.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "executor/gpu_usage.h"
#include "executor/log_cap.h"
#include "executor/log_notes.h"
#include "executor/output_watch.h"
#include "executor/usage_meter.h"
#include "executor/usage_sampler.h"
#include "runtime/base/event_loop.h"

namespace tony::executor {

struct WatchedAttempt {
  std::filesystem::path log_folder;  // with stdout and stderr of each process; gets usage.json
  int64_t log_limit_mb = 0;          // of each of them; 0: none
  std::vector<std::string> gpus;     // VisibleGpus()
  int processes = 1;
};

// Loop thread only. Made when the attempt's process has been started, in a process that has no other children.
class UsageWatch {
 public:
  // `tell` is called with each sample.
  UsageWatch(EventLoop& loop, WatchedAttempt attempt, std::function<void(const Usage&)> tell);

  // To be called once all processes have ended, perhaps again when more of them were reaped: all that was used.
  Usage Total();
  // The end: frees what the logs have too much and writes usage.json, but not for an attempt that was over before the
  // first sample; of that one everything is in its outcome. A file that cannot be written is none.
  void Finish();

 private:
  void Sample();
  void CheckLogs();
  void CapLogs();
  Duration UntilLogsAreChecked() const;
  Usage Whole(Usage usage);
  void Keep();

  EventLoop& loop_;
  const WatchedAttempt attempt_;
  const std::function<void(const Usage&)> tell_;
  const Instant start_;
  UsageSampler sampler_;
  UsageMeter meter_;
  std::optional<UsageMeter> total_;  // since Total()
  std::unique_ptr<GpuWatch> gpus_;   // none: no GPUs
  std::vector<LogCap> logs_;
  std::vector<LogNotes> notes_;
  OutputWatch output_;
  Instant kept_, noted_, capped_;
  Duration between_caps_{0};
  EventLoop::Timer sample_timer_, log_timer_;
};

// usage.json: {"schema":1,"usage":{...},"points":[{"at_ms":1200,"length_ms":1000,"mean_memory_bytes":...,
// "most_memory_bytes":...,"mean_millicores":...}]}; "usage" as in runtime/job/job_fields.h, at most 60 points.
std::string UsageDocument(const Usage& usage, const UsageSeries& series);

}  // namespace tony::executor
