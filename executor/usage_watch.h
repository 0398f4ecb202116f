// What an attempt uses of its GPUs, by NVIDIA's management library (NVML), where there is one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "executor/attempt_files.h"
#include "executor/task_logs.h"
#include "executor/usage_meter.h"
#include "runtime/base/event_loop.h"
#include "runtime/base/time.h"
#include "runtime/job/outcome.h"

namespace tony::executor {

// The devices in a value of CUDA_VISIBLE_DEVICES: numbers ("0"), or names ("GPU-...", "MIG-..."). As CUDA does it, what
// follows one that is neither ("-1") does not count.
std::vector<std::string> VisibleGpus(std::string_view value);

// Looks at the devices about once a second, on a thread of its own: the library may take seconds for its first answer,
// and a driver that is broken may never give one. Where there is no library, or it fails, there is no usage.
class GpuWatch {
 public:
  // Opens `library` on that thread. The devices' utilisation counts as the attempt's: they are its own.
  explicit GpuWatch(std::vector<std::string> devices, std::string library = "libnvidia-ml.so.1");
  // Stops, and waits at most half a second for the thread; one that hangs in the driver is left behind.
  ~GpuWatch();
  GpuWatch(const GpuWatch&) = delete;

  std::optional<GpuUsage> Newest() const;  // nothing: none measured so far
  void Stop();                             // no more looks; waits for nobody

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;  // also the thread's
};

// Reads from /proc what the descendants of this process use. It looks at nobody else's: the tree is walked by the
// lists of children that the kernel keeps.

// Of one attempt: made when its process has been started. This process is a subreaper that has no children but the
// attempt's, so whatever the attempt started is among its descendants, and who has ended is in what the kernel
// counted for reaped children.
//
// Memory that processes share after a fork and have not written to since counts for each of them.
class UsageSampler {
 public:
  UsageSampler();
  TreeSample Sample() const;

 private:
  Duration cpu_before_;        // of children that were reaped earlier
  int64_t most_before_bytes_;  // the largest of them
};

// Watches what one attempt uses while it runs: samples of its processes and GPUs, the room that its logs take, and when
// they grow. It decides nothing about the attempt.

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
