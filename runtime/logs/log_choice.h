// Types for reading a job's logs: the choice of logs, the position in them, and the texts that are passed on.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/job/ids.h"
#include "runtime/logs/log_source.h"

namespace tony {

// A choice among the tasks of one role.
struct ChosenTasks {
  std::string role;
  std::optional<int> index;  // nullopt: all tasks of the role
  // The number of the chosen attempt. The value 0 chooses the newest attempt of each task, and the earlier attempts
  // that have an offset in the cursor.
  int attempt = 0;
};

struct LogChoice {
  std::vector<ChosenTasks> tasks;  // empty: all tasks
  bool standard_output = true;
  bool standard_error = true;

  static LogChoice Of(const TaskId& task, int attempt = 0) { return {.tasks = {{task.role, task.index, attempt}}}; }
  bool Has(const TaskId& task) const;
  // Returns `attempt` of the ChosenTasks that contain the task. If several contain the task, the first of them counts.
  int AttemptOf(const TaskId& task) const;
  // Returns the task if exactly one is chosen.
  std::optional<TaskId> OnlyTask() const;
};

// A stream that a process of a task writes.
struct TaskStream {
  std::string_view name;  // "stdout" or "stderr"
  int process = 0;

  std::string File() const { return NameForProcess(name, process); }
};

struct LogText {
  AttemptId attempt;
  std::string_view stream;  // "stdout" or "stderr"
  // Whole lines, except for a line that is longer than one read or whose end has not been written yet.
  std::string_view text;
  int process = 0;
  // The offset in the log at which the text ends.
  uint64_t end = 0;
  // The time when the text was written, if the receiver wants times (log_reader.h).
  std::optional<Instant> when;
};

// The offset at which reading continues, for each stream. Programs keep the text form of a cursor to continue later.
class LogCursor {
 public:
  Status Set(const std::string& text);  // kUsage: not a cursor
  std::string Text() const;
  // Returns the offset of the stream in the cursor, and adds the stream if it is missing. The reference stays valid.
  uint64_t& Offset(const AttemptId& attempt, const TaskStream& stream);
  // Returns the oldest attempt of the task that has an offset in the cursor; `newest` if the cursor has no offset of
  // the task.
  int OldestBegun(const TaskId& task, int newest) const;

 private:
  std::map<std::string, uint64_t> offsets_;  // "worker:0#1/stdout" -> bytes passed on
};

// Returns the chosen streams of each attempt of the task, process by process.
std::vector<TaskStream> ChosenStreams(const LogSource& logs, const LogChoice& choice, const TaskId& task);

// Returns the chosen attempts that have logs, by task and number.
std::vector<AttemptId> ChosenAttempts(const LogSource& logs, const LogChoice& choice, const LogCursor& cursor);

}  // namespace tony
