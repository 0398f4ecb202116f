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
#include "runtime/job/job_status.h"
#include "runtime/job/log_pieces.h"

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

// A piece of one attempt's log.

struct LogPiece {
  std::string text;   // as it was written
  int64_t begin = 0;  // its first byte; more than was asked for where the middle of the log has been cut out
  int64_t next = 0;   // where the next piece begins
  int64_t size = 0;   // of the whole log, now
};

// At most `most` bytes from `cursor` on; without a cursor the last ones, from the start of a line if there is one.
// A log that is not there is empty.
LogPiece ReadLogPiece(const LogSource& logs, const AttemptId& attempt, std::string_view stream,
                      std::optional<int64_t> cursor, int64_t most);

// Which logs the attempts of a task have.

struct AttemptLogs {
  AttemptId attempt;
  LogSource::Files files;
};

// Of the newest `most` attempts those that have logs, newest first.
std::vector<AttemptLogs> ListLogs(const LogSource& logs, const TaskStatus& task, int most);

// What readers of logs do with text that grows, and whose middle may have been cut out.

bool LineBegins(const LogStream& log, uint64_t offset);  // what is before the offset ended a line
// Where the line begins that the offset is in, or ends behind: at most a megabyte before it, and behind what is cut.
uint64_t LineBeginAt(const LogStream& log, uint64_t offset);
bool IsCut(const LogStream& log, uint64_t offset);  // what follows the offset has been cut out

// The log is shorter than what was read of it: its writer emptied it, and it began again. Not of one that cannot be
// seen.
bool WasEmptied(const LogStream& log, uint64_t read);
inline constexpr std::string_view kEmptiedLine = "[... the task emptied this log ...]\n";

// "[... 1234 MB cut ...]", a line of its own, in place of what has been cut out.
std::string CutLine(int64_t bytes, bool line_begins);

// Length of the part of `text` that ends between two characters of UTF-8, for text cut at an arbitrary byte.
size_t WholeCharacters(std::string_view text);

// A log of which only parts are here, in memory: the rest reads as what has been cut out.

// The excerpt outlives the stream.
std::unique_ptr<LogStream> LogOf(const LogExcerpt& excerpt);

// Where the last lines of a log begin. Read back from its end in chunks, and no farther than needed: a log may have a
// gigabyte.

struct LastLines {
  uint64_t begin = 0;
  uint64_t end = 0;   // of the file as it was; between two characters if the file may grow
  uint64_t text = 0;  // bytes between them, without what has been cut out
};

// The last `lines` lines of the log, of which no more than `limit` bytes: whole lines, or of one that is longer
// its end. What follows the last line end counts as a line, and what stands for a cut (log_source.h) as none.
// `grows`: it may get longer. Null, or one that cannot be read, is as good as empty.
LastLines FindLastLines(const LogStream* log, uint64_t lines, uint64_t limit, bool grows);

}  // namespace tony
