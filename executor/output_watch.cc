#include "executor/output_watch.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <utility>

namespace tony::executor {
namespace {

Duration SinceEpoch(const timespec& time) {
  return std::chrono::duration_cast<Duration>(std::chrono::seconds(time.tv_sec) +
                                              std::chrono::nanoseconds(time.tv_nsec));
}

}  // namespace

OutputWatch::OutputWatch(std::vector<std::filesystem::path> logs, Instant start)
    : logs_(std::move(logs)), looked_(start), wrote_(start) {}

// The files say in wall time when they were written: between two looks, so a clock that steps does little harm.
Duration OutputWatch::Quiet(Instant now) {
  int64_t written = 0;
  Duration newest{0};
  for (const auto& log : logs_) {
    struct stat file {};
    if (stat(log.c_str(), &file) != 0) continue;
    written += file.st_size;
    newest = std::max(newest, SinceEpoch(file.st_mtim));
  }
  if (written != written_) {
    timespec wall{};
    clock_gettime(CLOCK_REALTIME, &wall);
    wrote_ = now - std::clamp(SinceEpoch(wall) - newest, Duration(0), std::max(now - looked_, Duration(0)));
  }
  written_ = written;
  looked_ = now;
  return now - wrote_;
}

}  // namespace tony::executor
