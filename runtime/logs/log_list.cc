#include "runtime/logs/log_list.h"

#include <algorithm>

namespace tony {

std::vector<AttemptLogs> ListLogs(const LogSource& logs, const TaskStatus& task, int most) {
  std::vector<AttemptLogs> found;
  for (int number = task.attempt; number > std::max(0, task.attempt - most); --number) {
    const AttemptId attempt{task.id, number};
    if (const auto files = logs.List(attempt)) found.push_back({attempt, *files});
  }
  return found;
}

}  // namespace tony
