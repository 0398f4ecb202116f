// Measures the resource usage of an attempt: its processes by /proc, its GPUs by NVIDIA's management library (NVML) if
// available, and the growth of its logs.
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

// Returns the devices in a value of CUDA_VISIBLE_DEVICES: numbers ("0"), or names ("GPU-...", "MIG-..."). As in CUDA,
// the list ends before the first entry that is neither a number nor a name, e.g. "-1".
std::vector<std::string> VisibleGpus(std::string_view value);

// Samples the devices about once a second on a separate thread, because the library may take seconds for its first
// answer. A broken driver may never answer. If the library is missing or fails, no usage is reported.
class GpuWatch {
 public:
  // Opens `library` on the new thread. The devices' utilisation counts as the attempt's, because the attempt has the
  // devices for itself.
  explicit GpuWatch(std::vector<std::string> devices, std::string library = "libnvidia-ml.so.1");
  // Stops the thread, and waits at most half a second for it. A thread that hangs in the driver is left behind.
  ~GpuWatch();
  GpuWatch(const GpuWatch&) = delete;

  std::optional<GpuUsage> Newest() const;  // nullopt: nothing measured yet
  // Ends the sampling. Does not wait for the thread.
  void Stop();

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;  // shared with the thread
};

// The classes below read the resource usage of this process's descendants from /proc. They walk the tree along the
// kernel's lists of children, so no other process is read.

// Samples one attempt. Create the sampler when the attempt's processes have been started. This process must be a
// subreaper that has no children except the attempt's. All processes that the attempt started are then its descendants.
// The kernel's counts for reaped children include the processes that have ended.
//
// Memory that processes share after a fork, because no process has written to it yet, counts for each of these
// processes.
class UsageSampler {
 public:
  UsageSampler();
  TreeSample Sample() const;

 private:
  Duration cpu_before_;        // children's CPU time before this attempt
  int64_t most_before_bytes_;  // children's peak memory before this attempt
};

// UsageWatch measures one attempt while it runs: its processes, its GPUs, and the growth and disk space of its logs.
// The watch also limits the size of the logs, and decides nothing about the attempt.

struct WatchedAttempt {
  // The folder with stdout and stderr of each process. usage.json is written there.
  std::filesystem::path log_folder;
  int64_t log_limit_mb = 0;       // MiB for each log; 0: unlimited
  std::vector<std::string> gpus;  // result of VisibleGpus()
  int processes = 1;
};

// Watches one attempt. Loop thread only. Create the watch when the attempt's processes have been started, in a process
// without other children.
class UsageWatch {
 public:
  // Calls `tell` with the usage after each sample.
  UsageWatch(EventLoop& loop, WatchedAttempt attempt, std::function<void(const Usage&)> tell);

  // Returns the total usage. Call this once all processes have ended, and again if more processes were reaped later.
  Usage Total();
  // Ends the watch: frees the part of each log above its limit, and writes usage.json. An attempt that ended before the
  // first sample gets no usage.json, because its outcome contains the usage. A failed write is ignored.
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
  std::optional<UsageMeter> total_;  // set by Total()
  std::unique_ptr<GpuWatch> gpus_;   // null: no GPUs
  std::vector<LogSizeLimit> logs_;
  std::vector<LogGrowthNotes> notes_;
  OutputWatch output_;
  Instant kept_, noted_, capped_;
  Duration between_caps_{0};
  EventLoop::Timer sample_timer_, log_timer_;
};

// Returns the text of usage.json:
// {"schema":1,"usage":{...},"points":[{"at_ms":1200,"length_ms":1000,"mean_memory_bytes":...,
// "most_memory_bytes":...,"mean_millicores":...}]}.
// "usage" has the fields that runtime/job/job_fields.h describes; "points" has at most 60 elements.
std::string UsageDocument(const Usage& usage, const UsageSeries& series);

}  // namespace tony::executor
