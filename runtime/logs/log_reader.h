// When what is in a log was written. Tasks write their logs themselves and no line has a time of its own, so an
// executor looks at its task's logs once a second, and notes beside each how long it has become:
//
//   stdout.times   "1764166740123 5120\n": at this time (milliseconds since 1970) it had 5120 bytes
//
// The time of a line is that of the first look that saw its end: at most a second late. What no look has seen yet has
// the time at which the log was last written to. A log that was over before the first look has no such file. The file
// is bounded: of the notes of a long life the older ones are thinned out, and times become as much coarser.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/logs/log_choice.h"
#include "runtime/logs/log_source.h"

namespace tony {

struct LogNote {
  Instant at;
  uint64_t size = 0;  // of the log
  friend bool operator==(const LogNote&, const LogNote&) = default;
};

std::string TimesOf(std::string_view log);  // the name of the file beside it: "stdout.times"
std::string LineOf(const LogNote& note);    // with its end
// Ascending in size. What is no such line is left out: the file is the task's to spoil.
std::vector<LogNote> LogNotesIn(std::string_view text);
// About three fifths of them: of the older three quarters every other one, and the newest.
std::vector<LogNote> ThinnedOut(const std::vector<LogNote>& notes);

inline constexpr size_t kMostLogNotes = 8192;  // in one file, 200 kB

struct LogTimes {
  std::vector<LogNote> notes;
  std::optional<Instant> changed;  // the log, at last

  std::optional<Instant> At(uint64_t end) const;  // of what ends there; nothing: that is not known
  // All before this offset was written before `since`. UINT64_MAX: all that there is.
  uint64_t Before(Instant since) const;
};

// Reads the times of a job's logs where they are needed, and again where a log has grown: once a second at most.
class LogClock {
 public:
  explicit LogClock(const LogSource& logs) : logs_(logs) {}  // the caller's

  // Of the log as far as `end`. Valid until the next call for it.
  const LogTimes& TimesTo(const AttemptId& attempt, const TaskStream& stream, uint64_t end, Instant now);

 private:
  struct Known {
    LogTimes times;
    std::optional<Instant> read;
  };
  const LogSource& logs_;
  std::map<std::pair<AttemptId, std::string>, Known> known_;
};

// Reads what the attempts of a job have written, from where an earlier reading ended. Nothing is held between readings
// but offsets, so a line may have any size and a cursor says everything.

class LogReader {
 public:
  // The caller's, who keeps both: `logs`, and `cursor`, where to begin, which reading moves on.
  LogReader(const LogSource& logs, LogChoice choice, LogCursor& cursor)
      : logs_(logs), choice_(std::move(choice)), cursor_(cursor) {}

  // Hands out what is new, at most `limit` bytes, and says whether that was all. A last line without its end is left
  // for later unless `last`. A file that cannot be read is as good as empty.
  bool Read(size_t limit, bool last, const std::function<void(const LogText&)>& sink);

  // Hands out the last `lines` lines of each stream (log_source.h), together at most `limit` bytes: where that is too
  // little, equal shares, of which those that need less leave the rest to the others. Here a last line without its end
  // is handed out, whatever follows. The cursor is then behind all that there was.
  void ReadLastLines(uint64_t lines, size_t limit, bool last, const std::function<void(const LogText&)>& sink);
  // Moves the cursor to where those lines begin, and hands out nothing.
  void GoToLastLines(uint64_t lines);

 private:
  using Sink = std::function<void(const LogText&)>;
  struct Stream {
    AttemptId attempt;
    TaskStream of_task;
  };
  struct Budget {
    size_t left;
    bool used;
  };
  std::vector<Stream> AllChosen() const;
  std::unique_ptr<LogStream> Open(const Stream& stream) const;
  // Up to the offset `end`, if the file has so much.
  bool ReadStream(const Stream& stream, Budget& budget, bool last, const Sink& sink,
                  uint64_t end = std::numeric_limits<uint64_t>::max());

  const LogSource& logs_;
  const LogChoice choice_;
  LogCursor& cursor_;
};

}  // namespace tony
