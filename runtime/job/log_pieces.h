// Pieces of logs on their way from the executor that can read them, by way of its master, to who asked; and what an
// executor leaves of them when its attempt has ended. Values; tony.thrift has their wire form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/time.h"
#include "runtime/job/ids.h"

namespace tony {

inline constexpr size_t kMostLogWants = 256;                           // of one call
inline constexpr int64_t kMostLogBytes = 512 << 10;                    // of text in one answer
inline constexpr Duration kLongestLogWait = std::chrono::seconds(20);  // below what a silent path is given up after

// What is wanted of one log.
struct LogWant {
  AttemptId attempt;
  std::string stream;   // "stdout", "stderr-1", "executor.log"
  int64_t offset = -1;  // below 0: a look at the log, no text
  bool operator==(const LogWant&) const = default;
};

struct LogQuery {
  std::vector<LogWant> wants;
  int64_t most = kMostLogBytes;  // bytes of text, of all together
  Duration wait{0};              // for text where there is none yet; the first to have some ends it
};

struct LogSpan {
  int64_t begin = 0;
  int64_t end = 0;
  bool operator==(const LogSpan&) const = default;
};

// Of one log.
struct LogNews {
  bool is_there = false;
  int64_t cut = 0;             // so many bytes from the offset on are gone; the text begins behind them
  std::string text;            // empty: there is no more yet, or no room for it in this answer
  int64_t size = 0;            // of the log, now
  bool ended = false;          // its attempt writes no more
  Instant changed{};           // with a look, as are the two below
  std::vector<LogSpan> parts;  // where it has text; of many the last ones
  std::vector<int> attempts;   // of the task, whose logs are where this one was looked for
  std::string problem;         // why nobody can tell; the rest is void
  bool operator==(const LogNews&) const = default;
};

// Those wants that something is known of, by their place in the query.
using LogAnswer = std::vector<std::pair<int, LogNews>>;

// A master's question to an executor.
struct LogAsk {
  int64_t id = 0;
  std::vector<LogWant> wants;  // of its own task
  int64_t most = 0;
  Duration wait{0};
  bool operator==(const LogAsk&) const = default;
};

// The beginning and the end of a log, in place of the whole.
struct LogExcerpt {
  struct Part {
    int64_t begin = 0;
    std::string text;
    bool operator==(const Part&) const = default;
  };
  std::string stream;
  int64_t size = 0;  // of the log
  std::vector<Part> parts;
  bool operator==(const LogExcerpt&) const = default;
};

// Of each of stdout and stderr; with the outputs of a chief, a call of an executor holds twice as much.
inline constexpr int64_t kExcerptHead = 64 << 10;
inline constexpr int64_t kExcerptTail = 192 << 10;

}  // namespace tony
