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
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

}  // namespace tony
