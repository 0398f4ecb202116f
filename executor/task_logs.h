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

// The end of a program's log, for people, as part of an outcome. The text is valid UTF-8 (bad bytes are replaced)
// without control characters except tab and line end. A log that cannot be read, or is not a regular file but a link or
// a pipe, gives empty text.
struct LogTail {
  // The last 20 lines, at most 4 KiB.
  std::string lines;
  // The last MiB of the log, because lines of other threads may follow the cause of a failure.
  std::string text;
};

// Returns the end of a log. Secrets are masked before the text is cut.
LogTail ReadLogTail(const std::filesystem::path& file, const SecretMask& mask = SecretMask());

// Returns the end of a log whose content is `text`.
LogTail LogTailOf(std::string_view text);
std::string LastLines(std::string_view text);

// Records when a log has grown (runtime/logs/log_reader.h). The writers of the log do not wait for this.

class LogGrowthNotes {
 public:
  explicit LogGrowthNotes(std::filesystem::path log);

  // Checks the log. A check costs one system call, and a few more if the log has grown. A note that cannot be written
  // is skipped.
  void Look(Instant now);

 private:
  void Append(const std::string& line);
  void ThinOut();

  const std::filesystem::path log_, notes_;
  int64_t size_ = 0;
  size_t count_ = 0;
};

// Limits the disk space of a log that other processes write. Such a file cannot be rotated, because its writers hold it
// open. Instead its middle is freed (fallocate, FALLOC_FL_PUNCH_HOLE). The beginning and the end stay in place, the
// file keeps its length, and its writers notice nothing. The file can be read with runtime/logs/log_source.h.

class LogSizeLimit {
 public:
  static constexpr int64_t kHeadBytes = 1 << 20;  // bytes at the beginning, always kept

  // Keeps the file open, because another file may later have its name. A file that is not regular is left alone.
  LogSizeLimit(const std::filesystem::path& file, int64_t limit_bytes);
  LogSizeLimit(UniqueFd file, int64_t limit_bytes);  // `file` is open for writing

  // Frees the bytes above the limit in whole MiB, so that the log keeps at most a MiB more than head and limit. Cheap
  // when there is nothing to do. Returns the number of freed bytes. kUnavailable: this file system cannot free parts of
  // files.
  Result<int64_t> Check();
  // Returns how many bytes the log grew between the last two calls of Check().
  int64_t growth() const { return growth_; }

 private:
  UniqueFd file_;  // invalid: the log is not capped
  int64_t limit_bytes_;
  int64_t size_ = 0;  // bytes at the last Check()
  int64_t growth_ = 0;
  int64_t freed_to_ = 0;  // end of the freed range
};

// Returns when to check a log again that has grown by `growth` bytes within `since`, the time since the last check. At
// the same speed the log grows by at most a quarter of the limit, or 64 MiB, until that check. A log that is quiet now
// may begin to grow by a GB a second. The result is between 10 ms and a second.
Duration UntilNextCheck(int64_t limit_bytes, int64_t growth, Duration since);

// Reads the logs of the executor's task for readers whose requests the AM passes on. Loop thread only.
//
// The logs are checked ten times a second while a request waits for more, and not otherwise.

class PendingLogRequests {
 public:
  using Send = std::function<void(int64_t id, const std::vector<LogNews>& news)>;
  struct Logs {
    std::filesystem::path job_folder;  // the job's folder on this node
    TaskId task;
    // The logs that may be read. Other files beside them may not be read.
    std::vector<std::string> names;
    // Replaces secrets by stars. A log that ends amid a secret is read only up to the secret, until the rest has been
    // written.
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
