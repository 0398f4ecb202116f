#include "runtime/job/usage_json.h"

#include <boost/json.hpp>

namespace tony {

namespace json = boost::json;

namespace {

constexpr int64_t kMostInt = std::numeric_limits<int>::max();

json::object GpuJson(const GpuUsage& gpu) {
  json::object out;
  out["memory_bytes"] = gpu.memory_bytes;
  out["most_memory_bytes"] = gpu.most_memory_bytes;
  out["percent"] = gpu.percent;
  out["mean_percent"] = gpu.mean_percent;
  out["most_percent"] = gpu.most_percent;
  return out;
}

Result<GpuUsage> ReadGpu(JsonFields fields) {
  GpuUsage gpu;
  gpu.memory_bytes = fields.Int("memory_bytes");
  gpu.most_memory_bytes = fields.Int("most_memory_bytes");
  gpu.percent = static_cast<int>(fields.Int("percent", 0, 100));
  gpu.mean_percent = static_cast<int>(fields.Int("mean_percent", 0, 100));
  gpu.most_percent = static_cast<int>(fields.Int("most_percent", 0, 100));
  TRY(fields.status());
  return gpu;
}

}  // namespace

json::object UsageJson(const Usage& usage) {
  json::object out;
  out["samples"] = usage.samples;
  out["memory_bytes"] = usage.memory_bytes;
  out["mean_memory_bytes"] = usage.mean_memory_bytes;
  out["most_memory_bytes"] = usage.most_memory_bytes;
  out["cpu_ms"] = usage.cpu.count();
  out["millicores"] = usage.millicores;
  out["most_millicores"] = usage.most_millicores;
  out["elapsed_ms"] = usage.elapsed.count();
  out["quiet_ms"] = usage.quiet.count();
  if (usage.gpu) out["gpu"] = GpuJson(*usage.gpu);
  return out;
}

Result<Usage> ReadUsage(JsonFields fields) {
  Usage usage;
  usage.samples = static_cast<int>(fields.Int("samples", 0, kMostInt));
  usage.memory_bytes = fields.Int("memory_bytes");
  usage.mean_memory_bytes = fields.Int("mean_memory_bytes");
  usage.most_memory_bytes = fields.Int("most_memory_bytes");
  usage.cpu = fields.Millis("cpu_ms");
  usage.millicores = fields.Int("millicores");
  usage.most_millicores = fields.Int("most_millicores");
  usage.elapsed = fields.Millis("elapsed_ms");
  if (fields.Has("quiet_ms")) usage.quiet = fields.Millis("quiet_ms");  // else of an earlier release
  TRY(fields.status());
  if (fields.Has("gpu")) {
    TRY_ASSIGN(usage.gpu, ReadGpu(fields.Fields("gpu")));
  }
  return usage;
}

}  // namespace tony
