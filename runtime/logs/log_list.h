// Which logs the attempts of a task have.
#pragma once

#include <vector>

#include "runtime/job/ids.h"
#include "runtime/job/job_status.h"
#include "runtime/logs/log_source.h"

namespace tony {

struct AttemptLogs {
  AttemptId attempt;
  LogSource::Files files;
};

// Of the newest `most` attempts those that have logs, newest first.
std::vector<AttemptLogs> ListLogs(const LogSource& logs, const TaskStatus& task, int most);

}  // namespace tony
