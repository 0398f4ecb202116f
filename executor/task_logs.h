// The log files of one attempt.
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

// What a program left in a log, for people, in an outcome: as valid UTF-8 (bad bytes replaced) without control
// characters other than tab and line end. What cannot be read, or is no regular file but a link or a pipe, is empty.
struct LastWords {
  std::string lines;  // the last 20, at most 4 KiB
  // The last MiB, because the lines of other threads may follow the cause of a failure.
  std::string text;
};

// Secrets are masked before anything is cut.
LastWords ReadLastWords(const std::filesystem::path& file, const SecretMask& mask = SecretMask());

// The same of a text.
LastWords LastWordsOf(std::string_view text);
std::string LastLines(std::string_view text);

// Notes when a log has grown (runtime/logs/log_reader.h). Who writes the log does not wait for it.

class LogNotes {
 public:
  explicit LogNotes(std::filesystem::path log);

  // Looks at the log: a call of the kernel, and a few more where it has grown. What cannot be written is left out.
  void Look(Instant now);

 private:
  void Append(const std::string& line);
  void ThinOut();

  const std::filesystem::path log_, notes_;
  int64_t size_ = 0;
  size_t count_ = 0;
};

// Keeps a log that other processes write within a limit of room on the disk. Nobody can rotate such a file, for its
// writers hold it open; instead its middle is freed (fallocate, FALLOC_FL_PUNCH_HOLE): what was first and last stays
// where it was, the file keeps its length, and its writers notice nothing. Read it with runtime/logs/log_source.h.

class LogCap {
 public:
  static constexpr int64_t kHeadBytes = 1 << 20;  // of a log's beginning stay whatever the limit

  // Holds the file open: what stands under its name later is somebody else's. Anything but a regular file is left
  // alone.
  LogCap(const std::filesystem::path& file, int64_t limit_bytes);
  LogCap(UniqueFd file, int64_t limit_bytes);  // open for writing

  // Frees what is over the limit, to a whole MiB, so that at most that much more than head and limit stays. Cheap when
  // there is nothing to do. How many bytes have been freed; kUnavailable: this file system cannot.
  Result<int64_t> Check();
  // How much longer the log is than at the Check() before.
  int64_t growth() const { return growth_; }

 private:
  UniqueFd file_;  // not valid: not to be capped
  int64_t limit_bytes_;
  int64_t size_ = 0;  // as last seen
  int64_t growth_ = 0;
  int64_t freed_to_ = 0;  // from kHeadBytes on
};

// When to check next a log that has grown by so many bytes in the time since the last check: before it has grown by a
// quarter of the limit, or by 64 MiB, at the same speed. A log that is quiet now may begin to grow by a GB a second. At
// least 10 ms, at most a second.
Duration UntilNextCheck(int64_t limit_bytes, int64_t growth, Duration since);

// Reads what the executor's task has written, for readers that its master passes on. Loop thread only.
//
// Who waits for more is looked after ten times a second, and nobody looks while nobody waits.

class LogAnswers {
 public:
  using Send = std::function<void(int64_t id, const std::vector<LogNews>& news)>;
  struct Logs {
    std::filesystem::path job_folder;  // on this node
    TaskId task;
    std::vector<std::string> names;  // those that may be read; nothing else that lies beside them
    SecretMask mask =
        SecretMask();  // secrets are stars in what is read, and a log that ends amid one waits for the rest
  };
  LogAnswers(EventLoop& loop, Logs logs, Send send) : loop_(loop), logs_(std::move(logs)), send_(std::move(send)) {}

  void Take(const std::vector<LogAsk>& asks);  // each is answered once, now or later
  void Look();    // answers those for whom there is something new, or who waited long enough
  void Forget();  // who asked is gone

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

// Beginning and end of stdout and stderr of this process of an attempt.
std::vector<LogExcerpt> ExcerptsOf(const std::filesystem::path& log_folder, int process,
                                   const SecretMask& mask = SecretMask());

}  // namespace tony::executor
