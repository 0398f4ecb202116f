// Reports new text in the logs of a job on YARN. It queries the job's AM, which answers when a log has new text. While
// the AM cannot be reached, the only report is that the job may have ended.
//
// New text is passed to the reader, and is read from there. Following logs is client activity, which counts for the
// job's watch timeout. Loop thread only.
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
  // `reader` must outlive this object.
  YarnLogWatch(EventLoop& loop, YarnLogReader& reader, std::optional<TaskId> task, LogWatchSink sink);

  void Look() override;
  bool is_blind() const override { return false; }

 private:
  using LogId = std::pair<AttemptId, std::string>;

  void Connect();
  void Lose(const std::string& why);
  void CheckMaster();
  void WatchStatus();
  void Take(const JobStatus& status);
  void Tell(const AttemptId& attempt);
  void AskLater(Duration delay);
  void Ask();
  void Take(const std::vector<LogWant>& wants, const LogAnswer& answer);
  void QueryLostExecutors();
  void LookForLostLater();
  void ReportAllStreams(const AttemptId& attempt);
  void EndIfOver(const AttemptId& attempt);
  // Returns a callback that calls `take` with the answer. If no answer comes, the connection counts as lost.
  template <class T>
  OnAnswer<T> Then(std::function<void(const T&)> take);

  EventLoop& loop_;
  YarnLogReader& reader_;
  // If set, only this task is followed.
  const std::optional<TaskId> task_;
  const LogWatchSink sink_;
  std::string token_;
  std::unique_ptr<AmConnection> am_;  // null: the AM is being searched
  std::function<bool()> is_replaced_;
  int64_t seq_ = 0;
  int calls_ = 0;          // open calls of ReadLogs
  std::set<LogId> asked_;  // logs requested in these calls
  std::set<AttemptId> told_;
  std::set<AttemptId> ended_;
  std::set<AttemptId> lost_;
  bool told_of_loss_ = false;
  EventLoop::Timer connecting_, asking_, looking_, checking_;
  SideThread checks_{loop_};
};

}  // namespace tony
