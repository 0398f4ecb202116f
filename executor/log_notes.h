// Notes when a log has grown (runtime/logs/log_times.h). Who writes the log does not wait for it.
#pragma once

#include <cstdint>
#include <filesystem>

#include "runtime/base/time.h"

namespace tony::executor {

class LogNotes {
 public:
  explicit LogNotes(std::filesystem::path log);

  // Looks at the log: a call of the kernel, and a few more where it has grown. What cannot be written is left out.
  void Look(Instant now);

 private:
  void Append(const std::string& line);
  void ThinOut();

  const std::filesystem::path log_, notes_;
  int64_t size_ = 0;
  size_t count_ = 0;
};

}  // namespace tony::executor
