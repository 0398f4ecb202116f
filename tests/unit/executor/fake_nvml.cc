// A library that answers like NVML for three GPUs: 0 is idle, 1 is busy, and GPU-lost was lost. A query for GPU-hang
// never returns.
#include <unistd.h>

#include <cstring>

namespace {

struct Memory {
  unsigned long long total, free, used;
};
struct Utilization {
  unsigned gpu, memory;
};

int gpus[3];  // the addresses serve as handles
constexpr int kSuccess = 0, kInvalid = 2, kLost = 15;

}  // namespace

extern "C" {

int nvmlInit_v2() { return kSuccess; }

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index > 1) return kInvalid;
  *device = &gpus[index];
  return kSuccess;
}

int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  while (std::strcmp(uuid, "GPU-hang") == 0) pause();
  *device = &gpus[2];
  return std::strcmp(uuid, "GPU-lost") == 0 ? kSuccess : kInvalid;
}

int nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
  if (device == &gpus[2]) return kLost;
  *memory = {100'000'000'000, 0, device == &gpus[1] ? 30'000'000'000u : 1'000'000'000u};
  return kSuccess;
}

int nvmlDeviceGetUtilizationRates(void* device, Utilization* utilization) {
  if (device == &gpus[2]) return kLost;
  *utilization = {device == &gpus[1] ? 90u : 0u, 0};
  return kSuccess;
}

}  // extern "C"
