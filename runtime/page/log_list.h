// Which logs the attempts of a task have.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/base/time.h"
#include "runtime/job/ids.h"
#include "runtime/job/job_status.h"
#include "runtime/store/job_folder.h"

namespace tony {

// What a page shows of an attempt's log folder, and nothing else of it.
inline constexpr std::array<std::string_view, 3> kLogNames = {"stdout", "stderr", "executor.log"};

struct LogFile {
  int64_t size = 0;
  Instant changed{};
};

struct AttemptLogs {
  AttemptId attempt;
  std::array<std::optional<LogFile>, kLogNames.size()> files;  // nothing: not there, or no regular file
};

// Of the newest `most` attempts those that have a log folder, newest first. No folder is read: only names
// that we give ourselves are looked for, whatever else a task has put beside them, and a link is not followed.
std::vector<AttemptLogs> ListLogs(const JobFolder& folder, const TaskStatus& task, int most);

}  // namespace tony
