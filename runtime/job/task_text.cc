#include "runtime/job/task_text.h"

#include <algorithm>

#include "runtime/base/strings.h"

namespace tony {
namespace {

constexpr int64_t kMega = 1 << 20, kGiga = 1 << 30;

std::string_view UnitOf(int64_t most) { return most < kGiga ? " MB" : " GB"; }

// Of few digits, in the unit of `most`.
std::string InUnit(int64_t bytes, int64_t most) {
  if (most < kGiga) return std::to_string((bytes + kMega / 2) / kMega);
  const int64_t tenths = (bytes + kGiga / 20) / (kGiga / 10);
  return most < 100 * kGiga ? StrCat(tenths / 10, ".", tenths % 10) : std::to_string(tenths / 10);
}

}  // namespace

std::string StateWord(const TaskStatus& task) {
  if (task.suspect) return "silent";
  return task.attempt_state.empty() || task.state == "backoff" ? task.state : task.attempt_state;
}

std::string MemoryText(const TaskStatus& task) {
  if (!task.usage) return "-";
  const Usage& usage = *task.usage;
  const int64_t most = std::max(usage.memory_bytes, usage.most_memory_bytes);
  if (most == 0) return "-";
  const bool known = usage.samples > 0 && !task.ended;
  return StrCat(known ? StrCat(InUnit(usage.memory_bytes, most), "/") : "", InUnit(most, most), UnitOf(most));
}

std::string MemoryOfLimit(const TaskStatus& task, int64_t limit_bytes) {
  if (!task.usage) return "-";
  const Usage& usage = *task.usage;
  const bool known = usage.samples > 0 && !task.ended;
  const int64_t used = known ? usage.memory_bytes : std::max(usage.memory_bytes, usage.most_memory_bytes);
  if (used == 0) return "-";
  const int64_t most = std::max(used, limit_bytes);
  return StrCat(InUnit(used, most), limit_bytes > 0 ? StrCat("/", InUnit(limit_bytes, most)) : "", UnitOf(most));
}

std::string PeakMemoryText(const TaskStatus& task) {
  const int64_t most = task.usage ? std::max(task.usage->memory_bytes, task.usage->most_memory_bytes) : 0;
  return most == 0 ? "-" : StrCat(InUnit(most, most), UnitOf(most));
}

std::string CpuText(const TaskStatus& task) {
  if (!task.usage) return "-";
  const Usage& usage = *task.usage;
  const bool known = usage.samples > 0 && !task.ended;
  if (!known && usage.elapsed.count() <= 0) return "-";
  const int64_t millicores = known ? usage.millicores : usage.cpu.count() * 1000 / usage.elapsed.count();
  return StrCat((millicores + 5) / 10, "%");
}

TaskStatus UsedTogether(const JobStatus& status) {
  TaskStatus all;
  Usage sum;
  bool known = false;
  for (const TaskStatus& task : status.tasks) {
    if (!task.usage || (task.ended && !status.verdict)) continue;
    known = true;
    sum.samples += task.usage->samples;
    sum.memory_bytes += task.usage->memory_bytes;
    sum.most_memory_bytes += task.usage->most_memory_bytes;
    sum.cpu += task.usage->cpu;
    sum.elapsed = std::max(sum.elapsed, task.usage->elapsed);
    sum.millicores += task.usage->millicores;
  }
  if (known) all.usage = sum;
  all.ended = status.ended;
  return all;
}

std::string ClockText(Duration length) {
  const int64_t seconds = std::max<int64_t>(0, length.count()) / 1000;
  const auto two = [](int64_t number) { return StrCat(number < 10 ? "0" : "", number); };
  if (seconds < 3600) return StrCat(seconds / 60, ":", two(seconds % 60));
  if (seconds < 86400) return StrCat(seconds / 3600, ":", two(seconds % 3600 / 60), ":", two(seconds % 60));
  return StrCat(seconds / 86400, "d ", two(seconds % 86400 / 3600), "h");
}

}  // namespace tony
