// Of what tasks wrote, the lines that are wanted, each with the time at which it was written.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/base/time.h"
#include "runtime/cli/log_pattern.h"
#include "runtime/logs/log_choice.h"
#include "runtime/logs/log_times.h"

namespace tony {

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

}  // namespace tony
