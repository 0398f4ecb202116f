// Reads or follows the logs of a job as somebody ordered it: from where on, which lines, with their times.
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

// A regular expression that lines are searched for, in RE2's syntax: time and memory are linear in what is searched,
// whatever the expression.

class LogPattern {
 public:
  // kUsage says what is wrong with it, and where.
  static Result<LogPattern> Parse(const std::string& expression);
  bool IsIn(std::string_view line) const;

 private:
  struct Compiled;
  explicit LogPattern(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}
  std::shared_ptr<const Compiled> compiled_;
};

struct LogOrder {
  bool json = false;
  bool follow = false;
  bool timestamps = false;
  std::optional<int64_t> lines;  // the last so many of each stream
  std::optional<Instant> since;
  std::optional<LogPattern> pattern;
  size_t limit = std::numeric_limits<size_t>::max();  // bytes of one answer
  LogCursor cursor;
};

// kUsage: options that do not go together, or values that cannot be read. `now`: what an age counts from.
Result<LogOrder> ReadLogOrder(const CommandLine& line, Instant now);

// The tasks that the words behind JOB name: roles, tasks, attempts of tasks; none: all. kNotFound: the job has no such.
Result<LogChoice> ReadLogChoice(const CommandLine& line, const JobId& job, const JobSpec& spec);

// Which lines of what the tasks wrote are wanted, and whether each comes with the time at which it was written.
struct LineWishes {
  std::optional<LogPattern> pattern;  // none: all lines
  LogClock* clock = nullptr;          // the caller's; null: no times
  const Clock* now = nullptr;         // with `clock`

  bool Any() const { return pattern || clock != nullptr; }
};

class LogLines {
 public:
  using Sink = std::function<void(const LogText&)>;
  LogLines(LineWishes wishes, Sink sink) : wishes_(std::move(wishes)), sink_(std::move(sink)) {}

  // Hands each line on by itself. One that has no end yet is searched when that comes, or at Finish(); of one that is
  // longer than a megabyte each megabyte is.
  void operator()(const LogText& log);
  void Finish();

 private:
  using StreamId = std::tuple<AttemptId, int, std::string>;
  void Take(const LogText& log, std::string_view line, uint64_t end);
  void Tell(const LogText& log, std::string_view line, uint64_t end);

  const LineWishes wishes_;
  const Sink sink_;
  std::map<StreamId, std::pair<std::string, uint64_t>> unfinished_;  // text, and its end in the log
};

// The last so many lines of each stream, in the order in which the streams came.
class LastOfEach {
 public:
  explicit LastOfEach(size_t lines) : lines_(lines) {}
  void Take(const LogText& log);
  // At most so many bytes of text: of the stream that has most the oldest lines go first.
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
  // `logs` are the caller's.
  LogSession(JobRecords records, const LogSource& logs, LogChoice choice, LogOrder order);

  using Sink = std::function<void(const LogText&)>;  // a chunk of a stream, or a line by itself

  // What there is now; whether that was all. `ended`: nothing more will come.
  bool ReadOnce(bool ended, const Sink& sink);
  // ... and what comes, until the job has ended or `loop` is stopped. `flush` is called behind each chunk.
  void Follow(EventLoop& loop, const Sink& sink, const std::function<void()>& flush);

  const LogCursor& cursor() const { return order_.cursor; }
  LogCursor CursorBehind(const LogText& log) const;  // as if nothing behind this had been handed out

 private:
  void SkipToTime();
  LineWishes Wishes();

  const JobRecords records_;
  const LogSource& logs_;
  const LogChoice choice_;
  LogOrder order_;
  LogClock clock_;
  const RealClock now_;
};

bool JobHasEnded(const JobRecords& records);

// For people who read what is written to `fd`.
LogPrinter MakeLogPrinter(const JobSpec& spec, const LogChoice& choice, bool timestamps,
                          std::function<void(std::string_view)> write, int fd);

// Shows what the tasks of a job write while the command waits for it.
class LogsBeside {
 public:
  // On a thread of its own, for reading may wait. To `fd`.
  LogsBeside(const JobRecords& records, int fd);
  ~LogsBeside() { End(/*stop=*/true); }
  LogsBeside(const LogsBeside&) = delete;

  // Returns when everything has been shown, or now if it is to stop. Once.
  void End(bool stop);

 private:
  Status Show();

  const JobRecords records_;
  const int fd_;
  EventLoop loop_;
  std::thread thread_;
};

}  // namespace tony
