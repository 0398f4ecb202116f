#include "executor/gpu_usage.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"

namespace tony::executor {
namespace {

// The driver's own figure of utilisation is of the last second at most.
constexpr std::chrono::milliseconds kLookEvery{1000};
constexpr std::chrono::milliseconds kLongestFarewell{500};
constexpr size_t kMostDevices = 64;

// What we need of NVML, by its documentation: all of it has been the same since 2014. There is no header of it here.
using NvmlDevice = void*;
struct NvmlMemory {
  unsigned long long total = 0, free = 0, used = 0;
};
struct NvmlUtilization {
  unsigned gpu = 0, memory = 0;
};
constexpr int kNvmlSuccess = 0;

class Nvml {
 public:
  explicit Nvml(const std::string& library) {
    // Never closed again: its threads and exit handlers may outlive our use of it.
    void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    const auto find = [&]<class Function>(Function& function, const char* name) {
      function = handle ? reinterpret_cast<Function>(dlsym(handle, name)) : nullptr;
      return function != nullptr;
    };
    int (*init)() = nullptr;
    usable_ = find(init, "nvmlInit_v2") && find(by_index_, "nvmlDeviceGetHandleByIndex_v2") &&
              find(by_uuid_, "nvmlDeviceGetHandleByUUID") && find(memory_, "nvmlDeviceGetMemoryInfo") &&
              find(utilization_, "nvmlDeviceGetUtilizationRates") && init() == kNvmlSuccess;
  }
  bool usable() const { return usable_; }

  std::optional<NvmlDevice> Device(const std::string& name) const {
    NvmlDevice device = nullptr;
    const auto index = ParseInt(name);
    const int result = index ? by_index_(static_cast<unsigned>(*index), &device) : by_uuid_(name.c_str(), &device);
    return result == kNvmlSuccess ? std::optional(device) : std::nullopt;
  }
  std::optional<int64_t> MemoryBytes(NvmlDevice device) const {
    NvmlMemory memory;
    if (memory_(device, &memory) != kNvmlSuccess) return std::nullopt;
    return static_cast<int64_t>(memory.used);
  }
  // A part of a device (MIG) has none.
  int Percent(NvmlDevice device) const {
    NvmlUtilization utilization;
    if (utilization_(device, &utilization) != kNvmlSuccess) return 0;
    return static_cast<int>(std::min(utilization.gpu, 100u));
  }

 private:
  bool usable_ = false;
  int (*by_index_)(unsigned, NvmlDevice*) = nullptr;
  int (*by_uuid_)(const char*, NvmlDevice*) = nullptr;
  int (*memory_)(NvmlDevice, NvmlMemory*) = nullptr;
  int (*utilization_)(NvmlDevice, NvmlUtilization*) = nullptr;
};

// The devices together.
struct Look {
  int64_t memory_bytes = 0;
  int percent = 0;
};
std::optional<Look> LookAt(const Nvml& nvml, const std::vector<NvmlDevice>& devices) {
  Look look;
  int measured = 0;
  for (const NvmlDevice device : devices) {
    const auto memory = nvml.MemoryBytes(device);
    if (!memory) continue;  // it has fallen off the bus
    look.memory_bytes += *memory;
    look.percent += nvml.Percent(device);
    ++measured;
  }
  if (measured == 0) return std::nullopt;
  look.percent /= measured;
  return look;
}

}  // namespace

struct GpuWatch::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  bool stop = false;
  bool ended = false;
  std::optional<GpuUsage> usage;
  int64_t looks = 0;
  int64_t percents = 0;

  void Note(const Look& look) {
    const std::lock_guard lock(mutex);
    if (!usage) usage.emplace();
    ++looks;
    percents += look.percent;
    usage->memory_bytes = look.memory_bytes;
    usage->most_memory_bytes = std::max(usage->most_memory_bytes, look.memory_bytes);
    usage->percent = look.percent;
    usage->mean_percent = static_cast<int>(percents / looks);
    usage->most_percent = std::max(usage->most_percent, look.percent);
  }

  // On the thread.
  void Watch(const std::vector<std::string>& names, const std::string& library) {
    const Nvml nvml(library);
    if (!nvml.usable()) {
      LogInfo(StrCat("GPU usage is not measured: ", library, " cannot be used"));
      return;
    }
    std::vector<NvmlDevice> devices;
    for (const std::string& name : names) {
      if (const auto device = nvml.Device(name)) devices.push_back(*device);
    }
    for (bool stopped = devices.empty(); !stopped;) {
      if (const auto look = LookAt(nvml, devices)) Note(*look);
      std::unique_lock lock(mutex);
      stopped = changed.wait_for(lock, kLookEvery, [this] { return stop; });
    }
  }
};

std::vector<std::string> VisibleGpus(std::string_view value) {
  std::vector<std::string> devices;
  for (const std::string& part : Split(value, ',')) {
    const std::string name(Trim(part));
    const bool number = !name.empty() && name.find_first_not_of("0123456789") == std::string::npos && name.size() < 6;
    if (!number && !name.starts_with("GPU-") && !name.starts_with("MIG-")) break;
    if (devices.size() < kMostDevices) devices.push_back(name);
  }
  return devices;
}

GpuWatch::GpuWatch(std::vector<std::string> devices, std::string library) : shared_(std::make_shared<Shared>()) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the loop's thread
  std::thread([shared = shared_, names = std::move(devices), file = std::move(library)] {
    shared->Watch(names, file);
    const std::lock_guard lock(shared->mutex);
    shared->ended = true;
    shared->changed.notify_all();
  }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void GpuWatch::Stop() {
  const std::lock_guard lock(shared_->mutex);
  shared_->stop = true;
  shared_->changed.notify_all();
}

GpuWatch::~GpuWatch() {
  Stop();
  std::unique_lock lock(shared_->mutex);
  if (!shared_->changed.wait_for(lock, kLongestFarewell, [this] { return shared_->ended; }))
    LogWarn("the GPU driver does not answer; the thread that asked it is left behind");
}

std::optional<GpuUsage> GpuWatch::Newest() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->usage;
}

}  // namespace tony::executor
