// The times at which the text of a log was written. Tasks write their logs themselves, and lines have no times of their
// own. An executor therefore checks its task's logs once a second, and notes the length of each log in another file:
//
//   stdout.times   "1764166740123 5120\n": at this time (milliseconds since 1970) the log had 5120 bytes
//
// The time of a line is the time of the first check after the end of the line was written, at most a second late. Text
// that no check has seen yet gets the time of the last write to the log. A log that was complete before the first check
// has no such file. The file has a size limit. When it is reached, some of the older notes are removed. The times of
// old lines then become less exact.
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
  uint64_t size = 0;  // size of the log
  friend bool operator==(const LogNote&, const LogNote&) = default;
};

// Returns the name of the file with the log's times: "stdout.times".
std::string TimesOf(std::string_view log);
std::string LineOf(const LogNote& note);  // with a line end
// Returns the notes, ascending in size. Other lines are ignored, because the task may write anything into the file.
std::vector<LogNote> LogNotesIn(std::string_view text);
// Returns about five eighths of the notes: every second note of the older three quarters, and all notes of the newest
// quarter.
std::vector<LogNote> ThinnedOut(const std::vector<LogNote>& notes);

inline constexpr size_t kMostLogNotes = 8192;  // notes per file, about 200 kB

struct LogTimes {
  std::vector<LogNote> notes;
  std::optional<Instant> changed;  // the log's last write

  // Returns the time when the text before the offset `end` was written; nullopt: unknown.
  std::optional<Instant> At(uint64_t end) const;
  // Returns the offset up to which the text is known to have been written before `since`. UINT64_MAX: all text is that
  // old.
  uint64_t Before(Instant since) const;
};

// Reads the times of a job's logs when they are needed, and again when a log has grown, at most once a second.
class LogClock {
 public:
  explicit LogClock(const LogSource& logs) : logs_(logs) {}  // not owned

  // Returns the times of the log up to the offset `end`. The reference is valid until the next call for the same log.
  const LogTimes& TimesTo(const AttemptId& attempt, const TaskStream& stream, uint64_t end, Instant now);

 private:
  struct Known {
    LogTimes times;
    std::optional<Instant> read;
  };
  const LogSource& logs_;
  std::map<std::pair<AttemptId, std::string>, Known> known_;
};

// Reads the logs of a job's attempts, each log from the end of the earlier read. Only offsets are kept between reads.
// Therefore a line may have any size, and a cursor contains the whole state.

class LogReader {
 public:
  // `logs` and `cursor` must outlive the reader. Reading begins at the cursor and moves it.
  LogReader(const LogSource& logs, LogChoice choice, LogCursor& cursor)
      : logs_(logs), choice_(std::move(choice)), cursor_(cursor) {}

  // Passes on new text, at most `limit` bytes, and returns whether all new text was passed on. An unfinished last line
  // is left for the next read unless `last` is true. A file that cannot be read counts as empty.
  bool Read(size_t limit, bool last, const std::function<void(const LogText&)>& sink);

  // Passes on the last `lines` lines of each stream (log_source.h), together at most `limit` bytes. If the limit is too
  // small, the streams get equal shares, and streams that need less leave the rest to the others. An unfinished last
  // line is passed on, even if it may still grow. Afterwards the cursor is behind all text that existed.
  void ReadLastLines(uint64_t lines, size_t limit, bool last, const std::function<void(const LogText&)>& sink);
  // Moves the cursor to the beginning of the last `lines` lines of each stream, without passing on any text.
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
  // Reads up to the offset `end`, or to the end of a shorter file. Returns whether all this text was passed on.
  bool ReadStream(const Stream& stream, Budget& budget, bool last, const Sink& sink,
                  uint64_t end = std::numeric_limits<uint64_t>::max());

  const LogSource& logs_;
  const LogChoice choice_;
  LogCursor& cursor_;
};

}  // namespace tony
