// Which logs of a job are wanted, how far each has been read, and what is handed out of them.
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

// Tasks of a role.
struct ChosenTasks {
  std::string role;
  std::optional<int> index;  // none: all of the role
  int attempt = 0;           // 0: the newest of each task, and those before it that the cursor has begun
};

struct LogChoice {
  std::vector<ChosenTasks> tasks;  // none: all
  bool standard_output = true;
  bool standard_error = true;

  static LogChoice Of(const TaskId& task, int attempt = 0) { return {.tasks = {{task.role, task.index, attempt}}}; }
  bool Has(const TaskId& task) const;
  int AttemptOf(const TaskId& task) const;  // as ChosenTasks::attempt; of a task that is named twice, the first counts
  std::optional<TaskId> OnlyTask() const;   // if it is but one
};

// One that a process of a task writes.
struct TaskStream {
  std::string_view name;  // "stdout", "stderr"
  int process = 0;

  std::string File() const { return OfProcess(name, process); }
};

struct LogText {
  AttemptId attempt;
  std::string_view stream;  // "stdout", "stderr"
  std::string_view text;    // whole lines, unless a line is longer than a reading or its end has not been written
  int process = 0;
  uint64_t end = 0;             // of the text in its log
  std::optional<Instant> when;  // it was written; for who wants to know (log_reader.h)
};

// Offsets by stream. Its text form is for programs that go on later.
class LogCursor {
 public:
  Status Set(const std::string& text);  // kUsage: not a cursor of ours
  std::string Text() const;
  // Of that stream, from now on part of the cursor. The reference stays valid.
  uint64_t& Offset(const AttemptId& attempt, const TaskStream& stream);
  // The oldest attempt of the task that has been begun; `newest` if none has.
  int OldestBegun(const TaskId& task, int newest) const;

 private:
  std::map<std::string, uint64_t> offsets_;  // "worker:0#1/stdout" -> bytes handed out
};

// Those chosen of each attempt of the task, process by process.
std::vector<TaskStream> ChosenStreams(const LogSource& logs, const LogChoice& choice, const TaskId& task);

// Attempts that have logs and are chosen, by task and number.
std::vector<AttemptId> ChosenAttempts(const LogSource& logs, const LogChoice& choice, const LogCursor& cursor);

}  // namespace tony
