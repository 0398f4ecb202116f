// What an attempt uses of its GPUs, by NVIDIA's management library (NVML), where there is one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/job/usage.h"

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

}  // namespace tony::executor
