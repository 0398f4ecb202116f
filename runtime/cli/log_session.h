// Reads or follows the logs of a job. The options of the command decide the starting point, the selected lines, and
// whether times are shown.
#pragma once

#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/cli/command_line.h"
#include "runtime/cli/log_printer.h"
#include "runtime/logs/log_choice.h"
#include "runtime/logs/log_reader.h"
#include "runtime/logs/log_source.h"
#include "runtime/records/job_records.h"

namespace tony {

// A regular expression in RE2's syntax, for searching lines. For every expression, time and memory are linear in the
// length of the searched text.

class LogPattern {
 public:
  // Parses the expression. A kUsage error describes the mistake in it and the mistake's position.
  static Result<LogPattern> Parse(const std::string& expression);
  bool IsIn(std::string_view line) const;

 private:
  struct Compiled;
  explicit LogPattern(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}
  std::shared_ptr<const Compiled> compiled_;
};

struct LogOptions {
  bool json = false;
  bool follow = false;
  bool timestamps = false;
  std::optional<int64_t> lines;  // number of last lines per stream
  std::optional<Instant> since;
  std::optional<LogPattern> pattern;
  size_t limit = std::numeric_limits<size_t>::max();  // most bytes in one answer
  LogCursor cursor;
};

// Returns the options of the command line. Fails with kUsage if options exclude each other or a value cannot be parsed.
// Ages count back from `now`.
Result<LogOptions> ReadLogOrder(const CommandLine& line, Instant now);

// Returns the tasks that the words after JOB name: roles, tasks, or attempts of tasks. Without such words, returns all
// tasks. Returns kNotFound if the job has no such role or task.
Result<LogChoice> ReadLogChoice(const CommandLine& line, const JobId& job, const JobSpec& spec);

// Selects lines of the tasks' output, and decides whether each line carries the time at which the task wrote it.
struct LineOptions {
  std::optional<LogPattern> pattern;  // nullopt: all lines
  LogClock* clock = nullptr;          // not owned; null: without times
  const Clock* now = nullptr;         // set together with `clock`

  bool Any() const { return pattern || clock != nullptr; }
};

class LogLines {
 public:
  using Sink = std::function<void(const LogText&)>;
  LogLines(LineOptions wishes, Sink sink) : wishes_(std::move(wishes)), sink_(std::move(sink)) {}

  // Passes on the selected lines, each separately. With a pattern, an unfinished line is searched when its end arrives,
  // or at Finish(). A line longer than a megabyte is searched in parts of a megabyte.
  void operator()(const LogText& log);
  void Finish();

 private:
  using StreamId = std::tuple<AttemptId, int, std::string>;
  void Take(const LogText& log, std::string_view line, uint64_t end);
  void Tell(const LogText& log, std::string_view line, uint64_t end);

  const LineOptions wishes_;
  const Sink sink_;
  // The unfinished line of each stream, and the offset in the log at which its text ends.
  std::map<StreamId, std::pair<std::string, uint64_t>> unfinished_;
};

// Keeps the last lines of each stream. The streams are returned in the order in which they first appeared.
class LastLinesPerStream {
 public:
  explicit LastLinesPerStream(size_t lines) : lines_(lines) {}
  void Take(const LogText& log);
  // Drops lines until at most `bytes` are left. The oldest line of the stream with the most text is dropped first.
  void CutTo(size_t bytes);
  void TellAll(const LogLines::Sink& sink) const;

 private:
  struct Line {
    std::string text;
    uint64_t end = 0;
    std::optional<Instant> when;
  };
  struct Stream {
    AttemptId attempt;
    std::string name;
    int process = 0;
    std::deque<Line> lines;
    size_t bytes = 0;
  };
  Stream& StreamOf(const LogText& log);
  static void DropFirst(Stream& stream);

  const size_t lines_;
  std::vector<Stream> streams_;
};

class LogSession {
 public:
  // `logs` belongs to the caller, and must outlive the session.
  LogSession(JobRecords records, const LogSource& logs, LogChoice choice, LogOptions order);

  using Sink = std::function<void(const LogText&)>;  // receives a chunk, or one line

  // Reads the present content of the logs. Returns whether everything was read. `ended` is true if the logs will not
  // grow any more.
  bool ReadOnce(bool ended, const Sink& sink);
  // Reads the present content of the logs, and follows them until the job has ended or `loop` is stopped. Calls `flush`
  // after each chunk.
  void Follow(EventLoop& loop, const Sink& sink, const std::function<void()>& flush);

  const LogCursor& cursor() const { return order_.cursor; }
  // `log` is a piece of a log that the session has passed on. Returns the cursor that continues this log at the end of
  // the piece, as if the session had passed on nothing after it.
  LogCursor CursorBehind(const LogText& log) const;

 private:
  void SkipToTime();
  LineOptions Wishes();

  const JobRecords records_;
  const LogSource& logs_;
  const LogChoice choice_;
  LogOptions order_;
  LogClock clock_;
  const RealClock now_;
};

bool JobHasEnded(const JobRecords& records);

// Returns a printer for people. The style of the printer fits the output `fd`. The printer calls `write` to write.
LogPrinter MakeLogPrinter(const JobSpec& spec, const LogChoice& choice, bool timestamps,
                          std::function<void(std::string_view)> write, int fd);

// Shows the output of a job's tasks while the command waits for the job.
class LogsWhileWaiting {
 public:
  // Starts a thread that reads the chosen logs and prints them to `fd`, and what tasks write to standard error to
  // `errors_fd`. The thread is needed, because reading may block.
  LogsWhileWaiting(const JobRecords& records, int fd) : LogsWhileWaiting(records, {}, fd, fd) {}
  LogsWhileWaiting(const JobRecords& records, LogChoice choice, int fd, int errors_fd);
  ~LogsWhileWaiting() { End(/*stop=*/true); }
  LogsWhileWaiting(const LogsWhileWaiting&) = delete;

  // Returns when all output has been shown. With `stop`, returns without showing the rest. Further calls have no
  // effect.
  void End(bool stop);

 private:
  Status Show();

  const JobRecords records_;
  const LogChoice choice_;
  const int fd_, errors_fd_;
  EventLoop loop_;
  std::thread thread_;
};

}  // namespace tony
