// Reads the log files of one attempt, limits their size, and records their growth.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "executor/secret_mask.h"
#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/base/unique_fd.h"
#include "runtime/job/ids.h"
#include "runtime/job/log_pieces.h"

namespace tony::executor {

// The last part of a program's log, which the outcome shows to people. The text is valid UTF-8 (bad bytes are replaced)
// without control characters except tab and line end. The text is empty if the log cannot be read, or is a link or a
// pipe instead of a regular file.
struct LogTail {
  // The last 20 lines, at most 4 KiB.
  std::string lines;
  // The last MiB of the log. This text is longer than `lines`, because lines of other threads may follow the cause of a
  // failure.
  std::string text;
};

// Returns the last part of a log. Secrets are masked before the last lines are selected.
LogTail ReadLogTail(const std::filesystem::path& file, const SecretMask& mask = SecretMask());

// Returns the last part of a log whose content is `text`.
LogTail LogTailOf(std::string_view text);
std::string LastLines(std::string_view text);

// Records how long a log was at which time, in the file that runtime/logs/log_reader.h describes. The writers of the
// log are not delayed.

class LogGrowthNotes {
 public:
  explicit LogGrowthNotes(std::filesystem::path log);

  // Checks the log, and writes a note if the log has grown. A check costs one system call, and a few more if the log
  // has grown. A note that cannot be written is skipped.
  void Look(Instant now);

 private:
  void Append(const std::string& line);
  void ThinOut();

  const std::filesystem::path log_, notes_;
  int64_t size_ = 0;
  size_t count_ = 0;
};

// Limits the disk space of a log that other processes write. Such a file cannot be rotated, because its writers hold it
// open. Instead the middle of the file is freed (fallocate, FALLOC_FL_PUNCH_HOLE). The beginning and the last part stay
// in place, the file keeps its length, and its writers notice nothing. Readers use runtime/logs/log_source.h, which
// reports the freed middle as cut out.

class LogSizeLimit {
 public:
  static constexpr int64_t kHeadBytes = 1 << 20;  // bytes at the beginning, always kept

  // Opens `file` and keeps it open, because another file may later get this name. The limit does not apply to a file
  // that is not regular.
  LogSizeLimit(const std::filesystem::path& file, int64_t limit_bytes);
  LogSizeLimit(UniqueFd file, int64_t limit_bytes);  // `file` is open for writing

  // Frees the bytes above the limit, in steps of one MiB. Afterwards the log takes at most the sum of kHeadBytes, the
  // limit and one MiB. A call that has nothing to free is cheap. Returns the number of freed bytes. kUnavailable: this
  // file system cannot free parts of files.
  Result<int64_t> Check();
  // Returns how many bytes the log grew between the last two calls of Check().
  int64_t growth() const { return growth_; }

 private:
  UniqueFd file_;  // invalid: the log is not limited
  int64_t limit_bytes_;
  int64_t size_ = 0;  // bytes at the last Check()
  int64_t growth_ = 0;
  int64_t freed_to_ = 0;  // end of the freed range
};

// Returns the delay before the next check of a log that has grown by `growth` bytes in the time `since`. If the log
// continues to grow at this speed, it grows until that check by at most a quarter of the limit, and by at most 64 MiB.
// The delay is at least 10 ms. Even for a quiet log the delay is at most a second, because such a log may begin to grow
// by a GB a second.
Duration UntilNextCheck(int64_t limit_bytes, int64_t growth, Duration since);

// Reads the logs of the executor's task for readers whose requests the AM passes on. Loop thread only.
//
// The logs are checked ten times a second, and only while a request waits for new text.

class PendingLogRequests {
 public:
  using Send = std::function<void(int64_t id, const std::vector<LogNews>& news)>;
  struct Logs {
    std::filesystem::path job_folder;  // the job's folder on this node
    TaskId task;
    // The only files of the log folder that may be read.
    std::vector<std::string> names;
    // Replaces secrets by stars. If a log ends with the beginning of a secret, only the text before the secret is
    // returned until the rest has been written.
    SecretMask mask = SecretMask();
  };
  PendingLogRequests(EventLoop& loop, Logs logs, Send send)
      : loop_(loop), logs_(std::move(logs)), send_(std::move(send)) {}

  // Takes requests of the AM. Each is answered once, now or later, unless Forget() drops it.
  void Take(const std::vector<LogAsk>& asks);
  // Answers the requests for which new text exists, or which have waited long enough.
  void Look();
  // Drops all requests, because their sender is not connected any more.
  void Forget();

 private:
  struct Waiting {
    LogAsk ask;
    Instant until;
  };
  bool Answer(const Waiting& waiting);
  void LookLater();
  LogNews Read(const LogWant& want, int64_t most) const;
  std::vector<int> AttemptsThere() const;

  EventLoop& loop_;
  const Logs logs_;
  const Send send_;
  std::deque<Waiting> waiting_;  // oldest first
  EventLoop::Timer timer_;
};

// Returns the beginning and the end of stdout and stderr of one process of an attempt.
std::vector<LogExcerpt> ExcerptsOf(const std::filesystem::path& log_folder, int process,
                                   const SecretMask& mask = SecretMask());

}  // namespace tony::executor
