// Tells what was written to the logs of a job on YARN: asks the job's master, which answers when there is more. While
// the master cannot be reached nothing is told but that the job may have ended.
//
// What has come is read from the reader, which it was given to. Who follows looks at the job, which its watch timeout
// counts. Loop thread only.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/event_loop.h"
#include "runtime/logs/log_source.h"
#include "runtime/rpc/am_connection.h"
#include "runtime/yarn/yarn_log_reader.h"

namespace tony {

class YarnLogWatch : public LogWatch {
 public:
  // The reader outlives it.
  YarnLogWatch(EventLoop& loop, YarnLogReader& reader, std::optional<TaskId> task, LogWatchSink sink);

  void Look() override;
  bool is_blind() const override { return false; }

 private:
  using LogId = std::pair<AttemptId, std::string>;

  void Connect();
  void Lose(const std::string& why);
  void WatchStatus();
  void Take(const JobStatus& status);
  void Tell(const AttemptId& attempt);
  void AskLater(Duration delay);
  void Ask();
  void Take(const std::vector<LogWant>& wants, const LogAnswer& answer);
  void LookForLost();
  void LookForLostLater();
  void TellOfAll(const AttemptId& attempt);
  void EndIfOver(const AttemptId& attempt);
  // What to do with an answer; without one the connection is lost.
  template <class T>
  OnAnswer<T> Then(std::function<void(const T&)> take);

  EventLoop& loop_;
  YarnLogReader& reader_;
  const std::optional<TaskId> task_;  // the only one that is wanted
  const LogWatchSink sink_;
  std::string token_;
  std::unique_ptr<AmConnection> am_;  // null: it is being looked for
  int64_t seq_ = 0;
  int calls_ = 0;          // of ReadLogs, open
  std::set<LogId> asked_;  // in these
  std::set<AttemptId> told_;
  std::set<AttemptId> ended_;
  std::set<AttemptId> lost_;
  bool told_of_loss_ = false;
  EventLoop::Timer connecting_, asking_, looking_;
};

}  // namespace tony
