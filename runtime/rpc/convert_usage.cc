#include <limits>

#include "runtime/base/strings.h"
#include "runtime/rpc/convert.h"
#include "tony_types.h"

namespace tony {
namespace {

// The first field that makes no sense is remembered.
class Checked {
 public:
  int64_t operator()(std::string_view field, int64_t value, int64_t most = std::numeric_limits<int64_t>::max()) {
    if (status_.ok() && (value < 0 || value > most))
      status_ = Error{ErrorCode::kInvalid, StrCat("usage.", field, ": ", value, ", expected 0 to ", most)};
    return value;
  }
  int Percent(std::string_view field, int32_t value) { return static_cast<int>((*this)(field, value, 100)); }
  const Status& status() const { return status_; }

 private:
  Status status_;
};

GpuUsage CheckedGpu(const rpc::GpuUsage& wire, Checked& checked) {
  return {.memory_bytes = checked("gpu.memory_bytes", wire.memory_bytes),
          .most_memory_bytes = checked("gpu.most_memory_bytes", wire.most_memory_bytes),
          .percent = checked.Percent("gpu.percent", wire.percent),
          .mean_percent = checked.Percent("gpu.mean_percent", wire.mean_percent),
          .most_percent = checked.Percent("gpu.most_percent", wire.most_percent)};
}

rpc::GpuUsage ToThrift(const GpuUsage& gpu) {
  rpc::GpuUsage wire;
  wire.__set_memory_bytes(gpu.memory_bytes);
  wire.__set_most_memory_bytes(gpu.most_memory_bytes);
  wire.__set_percent(gpu.percent);
  wire.__set_mean_percent(gpu.mean_percent);
  wire.__set_most_percent(gpu.most_percent);
  return wire;
}

}  // namespace

Result<Usage> FromThrift(const rpc::Usage& wire) {
  Checked checked;
  Usage usage{.samples = static_cast<int>(checked("samples", wire.samples)),
              .memory_bytes = checked("memory_bytes", wire.memory_bytes),
              .mean_memory_bytes = checked("mean_memory_bytes", wire.mean_memory_bytes),
              .most_memory_bytes = checked("most_memory_bytes", wire.most_memory_bytes),
              .cpu = Duration(checked("cpu_ms", wire.cpu_ms)),
              .millicores = checked("millicores", wire.millicores),
              .most_millicores = checked("most_millicores", wire.most_millicores),
              .elapsed = Duration(checked("elapsed_ms", wire.elapsed_ms)),
              .quiet = Duration(checked("quiet_ms", wire.quiet_ms))};
  if (wire.__isset.gpu) usage.gpu = CheckedGpu(wire.gpu, checked);
  TRY(checked.status());
  return usage;
}

rpc::Usage ToThrift(const Usage& usage) {
  rpc::Usage wire;
  wire.__set_samples(usage.samples);
  wire.__set_memory_bytes(usage.memory_bytes);
  wire.__set_mean_memory_bytes(usage.mean_memory_bytes);
  wire.__set_most_memory_bytes(usage.most_memory_bytes);
  wire.__set_cpu_ms(usage.cpu.count());
  wire.__set_millicores(usage.millicores);
  wire.__set_most_millicores(usage.most_millicores);
  wire.__set_elapsed_ms(usage.elapsed.count());
  wire.__set_quiet_ms(usage.quiet.count());
  if (usage.gpu) wire.__set_gpu(ToThrift(*usage.gpu));
  return wire;
}

}  // namespace tony
