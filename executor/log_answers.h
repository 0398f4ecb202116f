// Reads what the executor's task has written, for readers that its master passes on. Loop thread only.
//
// Who waits for more is looked after ten times a second, and nobody looks while nobody waits.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "executor/secret_mask.h"
#include "runtime/base/event_loop.h"
#include "runtime/job/ids.h"
#include "runtime/job/log_pieces.h"

namespace tony::executor {

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
