// What the attempts of a job have written, wherever it lies: what `tony logs`, the page and reports read, and no other
// way. Seam: LocalLogSource, for logs that are files of this machine.
//
// Calls answer at once or wait for whoever has the log: for threads that may wait. A log that cannot be read is as good
// as empty, and one that is not there may come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/event_loop.h"
#include "runtime/base/time.h"
#include "runtime/job/ids.h"

namespace tony {

// The streams of an attempt that are shown, and nothing else of what is beside them: "stdout", "stderr",
// "executor.log", then those of the task's further processes: "stdout-1", "stderr-1", "stdout-2", ...
std::vector<std::string> LogNames(int processes);

struct LogBytes {
  int64_t cut = 0;  // so many bytes from the offset on are gone; what was read begins behind them
  size_t size = 0;  // so many were read; 0: there are no more yet
};

struct LogPart {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// One log: it grows, and a limit on its size may cut out its middle. Offsets count what was written, also what is gone.
class LogStream {
 public:
  virtual ~LogStream() = default;
  virtual LogBytes Read(int64_t offset, std::span<char> buffer) const = 0;
  // Where it has text, in order: between two parts, and after the last one, it has been cut out.
  virtual std::vector<LogPart> Parts() const = 0;
  virtual int64_t Size() const = 0;                    // now
  virtual std::optional<Instant> Changed() const = 0;  // when it was last written to, if that is known
};

struct LogFile {
  int64_t size = 0;
  Instant changed{};
  friend bool operator==(const LogFile&, const LogFile&) = default;
};

// Called on the loop.
struct LogWatchSink {
  std::function<void(const AttemptId&)> on_attempt;                      // it has logs; each is told once
  std::function<void(const AttemptId&, const std::string&)> on_written;  // this stream of it has grown
  std::function<void(const AttemptId&)> on_ended;                        // nothing more is written by it
  std::function<void()> on_status;                                       // the job's status has changed
  std::function<void()> on_missed;  // anything may have happened, or the watch has become blind outside of Look()
};

// Tells of what is written until it is destroyed.
class LogWatch {
 public:
  virtual ~LogWatch() = default;
  // Looks for what nobody told of. After it, all that was there before is known.
  virtual void Look() = 0;
  // Something is not watched: look from time to time.
  virtual bool is_blind() const = 0;
};

class LogSource {
 public:
  virtual ~LogSource() = default;
  // Those that have logs, by task and number; of this task, or of all.
  virtual std::vector<AttemptId> Attempts(const std::optional<TaskId>& task) const = 0;
  // Null: it is not there (yet), or is no log of ours: what a task has put in its place is not followed, nor waited
  // for.
  virtual std::unique_ptr<LogStream> Open(const AttemptId& attempt, std::string_view stream) const = 0;
  virtual int Processes(const TaskId& task) const = 0;  // of each attempt; 1 where that cannot be known
  // Which of LogNames() there are, in their order; nothing: the attempt has no logs.
  using Files = std::vector<std::optional<LogFile>>;
  virtual std::optional<Files> List(const AttemptId& attempt) const = 0;
  // Tells of the attempts that are there already, and of each that comes.
  virtual std::unique_ptr<LogWatch> Watch(EventLoop& loop, const std::optional<TaskId>& task,
                                          LogWatchSink sink) const = 0;
};

}  // namespace tony
