// The logs of a job's attempts, wherever they lie. `tony logs`, the page and reports read logs only through this
// interface. LocalLogSource implements it for log files of this machine.
//
// Calls may block until the owner of a log answers, so they must be made on threads that may wait. A log that cannot be
// read counts as empty, and a log that does not exist may appear later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/job/ids.h"
#include "runtime/job/job_status.h"
#include "runtime/job/log_pieces.h"

namespace tony {

// Returns the names of those streams of an attempt that are shown to people: "stdout", "stderr", "executor.log", and
// the streams of the task's further processes: "stdout-1", "stderr-1", "stdout-2", ... Other files of the attempt's
// folder are not included.
std::vector<std::string> LogNames(int processes);

struct LogBytes {
  // The number of bytes from the offset on that have been cut out. The text that was read begins behind these bytes.
  int64_t cut = 0;
  size_t size = 0;  // bytes read; 0: no more yet
};

struct LogPart {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// The text of one log. A log grows, and a limit on its size may cut out its middle. Offsets count everything that was
// written, including the text that was cut out.
class LogStream {
 public:
  virtual ~LogStream() = default;
  virtual LogBytes Read(int64_t offset, std::span<char> buffer) const = 0;
  // Returns the parts that contain text, in order. The text between two parts, and after the last part, has been cut
  // out.
  virtual std::vector<LogPart> Parts() const = 0;
  virtual int64_t Size() const = 0;  // current size
  // Returns the time of the last write, if it is known.
  virtual std::optional<Instant> Changed() const = 0;
};

struct LogFile {
  int64_t size = 0;
  Instant changed{};
  friend bool operator==(const LogFile&, const LogFile&) = default;
};

// The callbacks of a LogWatch. They are called on the loop.
struct LogWatchSink {
  // The attempt has logs. Each attempt is reported once.
  std::function<void(const AttemptId&)> on_attempt;
  std::function<void(const AttemptId&, const std::string&)> on_written;  // the named stream has grown
  std::function<void(const AttemptId&)> on_ended;                        // the attempt writes nothing more
  std::function<void()> on_status;                                       // the job's status has changed
  // Some changes may not have been reported, or the watch has become blind outside of Look().
  std::function<void()> on_missed;
};

// Reports the growth of logs until the object is destroyed.
class LogWatch {
 public:
  virtual ~LogWatch() = default;
  // Searches for changes that were not reported. When the call returns, everything that existed before the call has
  // been reported.
  virtual void Look() = 0;
  // Returns whether a part of the logs is not watched. Look() must then be called from time to time.
  virtual bool is_blind() const = 0;
};

class LogSource {
 public:
  virtual ~LogSource() = default;
  // Returns the attempts of `task`, or of all tasks, that have logs. They are sorted by task and number.
  virtual std::vector<AttemptId> Attempts(const std::optional<TaskId>& task) const = 0;
  // Returns null if the log does not exist yet, or if another kind of file is in its place. A task may have put a link
  // or a pipe there. A link is not followed, and a pipe does not block the call.
  virtual std::unique_ptr<LogStream> Open(const AttemptId& attempt, std::string_view stream) const = 0;
  virtual int Processes(const TaskId& task) const = 0;  // processes per attempt; 1 if unknown
  // The files of LogNames(), in the same order. An element is empty if the file does not exist. List() returns nullopt
  // if the attempt has no logs.
  using Files = std::vector<std::optional<LogFile>>;
  virtual std::optional<Files> List(const AttemptId& attempt) const = 0;
  // Returns kUnavailable if logs of an attempt could not be read. The message names these attempts and the reason.
  virtual Status Unread() const { return Ok(); }
  // Returns a watch that reports the attempts that exist already, and each new attempt.
  virtual std::unique_ptr<LogWatch> Watch(EventLoop& loop, const std::optional<TaskId>& task,
                                          LogWatchSink sink) const = 0;
};

// Returns the error for logs that could not be read, with the reason for the first one; Ok if `unread` is empty.
Status UnreadError(const std::map<AttemptId, std::string>& unread);

// A piece of one attempt's log.

struct LogPiece {
  std::string text;  // bytes as the task wrote them
  // The offset of the first byte; larger than requested if the middle of the log has been cut out.
  int64_t begin = 0;
  int64_t next = 0;  // offset of the next piece
  int64_t size = 0;  // current size of the whole log
};

// Returns at most `most` bytes from `cursor` on. Without a cursor, returns the last bytes, from the start of a line if
// possible. A log that does not exist is empty.
LogPiece ReadLogPiece(const LogSource& logs, const AttemptId& attempt, std::string_view stream,
                      std::optional<int64_t> cursor, int64_t most);

// The logs of a task's attempts.

struct AttemptLogs {
  AttemptId attempt;
  LogSource::Files files;
};

// Returns the logs of the newest `most` attempts, the newest first. Attempts without logs are left out.
std::vector<AttemptLogs> ListLogs(const LogSource& logs, const TaskStatus& task, int most);

// Functions for readers of a log that grows, and whose middle may have been cut out.

// Returns whether a line begins at the offset.
bool LineBegins(const LogStream& log, uint64_t offset);
// Returns the beginning of the line that contains the offset. The search goes back at most a megabyte and stops at a
// cut. Returns `offset` if the search finds no line end.
uint64_t LineBeginAt(const LogStream& log, uint64_t offset);
// Returns whether the text right after the offset has been cut out.
bool IsCut(const LogStream& log, uint64_t offset);

// Returns whether the log is shorter than the part that was read, because its writer emptied it and began again.
// Returns false if the log cannot be read.
bool WasEmptied(const LogStream& log, uint64_t read);
inline constexpr std::string_view kEmptiedLine = "[... the task emptied this log ...]\n";

// Returns the line that stands for text that has been cut out: "[... 1234 MB cut ...]". A line end precedes the line
// unless `line_begins` is true.
std::string CutLine(int64_t bytes, bool line_begins);

// Returns the length of `text` without an incomplete UTF-8 character at its end, for text cut at an arbitrary byte.
size_t WholeCharacters(std::string_view text);

// The following function makes a log from an excerpt, which has only some parts of the log. The other parts read as
// text that has been cut out.

// `excerpt` must outlive the stream.
std::unique_ptr<LogStream> LogOf(const LogExcerpt& excerpt);

// Finds where the last lines of a log begin. The log is read backwards in chunks, and no farther than needed, because a
// log may have a gigabyte.

struct LastLines {
  uint64_t begin = 0;
  // The end of the log when it was read. If the log may grow, an incomplete character at the end is not included.
  uint64_t end = 0;
  // The bytes between `begin` and `end`, without the parts that have been cut out.
  uint64_t text = 0;
};

// Returns the last `lines` lines of the log, at most `limit` bytes of them. The result has only whole lines, except
// that a single line longer than `limit` is represented by its end. Text behind the last line end counts as a line. The
// line that stands for a cut (CutLine) does not count. `grows` is true if the log may get longer. A null log, or a log
// that cannot be read, counts as empty.
LastLines FindLastLines(const LogStream* log, uint64_t lines, uint64_t limit, bool grows);

}  // namespace tony
