// Pieces of logs on their way from the executor that can read them, through the AM, to the client that requested them.
// The file also has the excerpts that an executor reports when its attempt has ended. All types are plain values;
// tony.thrift has their wire form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/time.h"
#include "runtime/job/ids.h"

namespace tony {

inline constexpr size_t kMostLogWants = 256;         // most logs in one call
inline constexpr int64_t kMostLogBytes = 512 << 10;  // bytes of text in one answer
// The longest wait for text. It is shorter than the time after which a silent connection is closed.
inline constexpr Duration kLongestLogWait = std::chrono::seconds(20);

// A request for a piece of one log.
struct LogWant {
  AttemptId attempt;
  std::string stream;  // "stdout", "stderr-1", "executor.log"
  // The offset of the first byte wanted. Below 0: no text, only the state of the log.
  int64_t offset = -1;
  bool operator==(const LogWant&) const = default;
};

struct LogQuery {
  std::vector<LogWant> wants;
  // The limit on the bytes of text, for all logs together.
  int64_t most = kMostLogBytes;
  // How long to wait if none of the logs has text yet. The first text ends the wait.
  Duration wait{0};
};

struct LogSpan {
  int64_t begin = 0;
  int64_t end = 0;
  bool operator==(const LogSpan&) const = default;
};

// The state of one log, with the text that was wanted.
struct LogNews {
  bool is_there = false;
  // The number of bytes after the offset that are no longer in the log. The text begins behind them.
  int64_t cut = 0;
  // Empty: the log has no further text yet, or the answer has no room for the text.
  std::string text;
  int64_t size = 0;  // present size of the log
  // True: the attempt will not write any more.
  bool ended = false;
  // The time of the last change. Like `parts` and `attempts`, it is only set if the wanted offset is below 0.
  Instant changed{};
  // The ranges of the log that hold text; if these are many, only the last ones.
  std::vector<LogSpan> parts;
  // The attempts of this task that have logs in the place where this log was looked up.
  std::vector<int> attempts;
  // The reason why the log cannot be read. If it is set, all other members are meaningless.
  std::string problem;
  bool operator==(const LogNews&) const = default;
};

// The results that are known, each with the index of its LogWant in the query.
using LogAnswer = std::vector<std::pair<int, LogNews>>;

// A request of the AM to an executor for pieces of logs.
struct LogAsk {
  int64_t id = 0;
  std::vector<LogWant> wants;  // only logs of the executor's task
  int64_t most = 0;
  Duration wait{0};
  bool operator==(const LogAsk&) const = default;
};

// The beginning and the end of a log, in place of the whole log.
struct LogExcerpt {
  struct Part {
    int64_t begin = 0;
    std::string text;
    bool operator==(const Part&) const = default;
  };
  std::string stream;
  int64_t size = 0;  // size of the whole log
  std::vector<Part> parts;
  bool operator==(const LogExcerpt&) const = default;
};

// The longest beginning and the longest end of an excerpt, in bytes. They apply to stdout and to stderr separately.
// Together with the outputs of a chief (1 MiB), a report stays below the largest call of an executor, 2 MiB
// (rpc_server.h).
inline constexpr int64_t kExcerptHead = 64 << 10;
inline constexpr int64_t kExcerptTail = 192 << 10;

}  // namespace tony
