// Calls that are answered later: an executor's Await until there is a command, a client's Watch until there is news.
// Loop thread only. A caller that goes away is forgotten.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/base/event_loop.h"
#include "runtime/rpc/rpc_server.h"

namespace tony::am {

class ParkedCalls {
 public:
  // `on_watch_end` is called when a Watch has been answered or its caller has gone away.
  explicit ParkedCalls(
      EventLoop& loop, std::function<void()> on_watch_end = [] {})
      : loop_(loop), on_watch_end_(std::move(on_watch_end)) {}

  // One Await per attempt; an earlier one is answered "no news". So is this one after 30 s, by which its caller notices
  // a path that has gone silent.
  void ParkAwait(const AttemptId& attempt, int64_t since, const Reply<Command>& reply);
  // Of the newest attempt of the task that awaits something.
  std::optional<AttemptId> WhoAwaits(const TaskId& task) const;
  void AskForLogs(const AttemptId& attempt, std::vector<LogAsk> asks);  // answers its Await: it will be back
  void Tell(const AttemptId& attempt, const Command& command);  // answers if the command is above the Await's `since`

  // After `limit` it is answered with what `status` says then.
  void ParkWatch(int64_t since, Duration limit, const Reply<StatusAnswer>& reply, std::function<StatusAnswer()> status);
  bool AnyWatch() const { return !watches_.empty(); }
  void Tell(const StatusAnswer& answer);     // answers those for whom it is news
  void TellAll(const StatusAnswer& answer);  // answers everybody

 private:
  struct Await {
    int64_t id;
    int64_t since;
    Reply<Command> reply;
    EventLoop::Timer limit;
  };
  struct Watch {
    int64_t since;
    Reply<StatusAnswer> reply;
    EventLoop::Timer limit;
  };
  std::unique_ptr<Await> TakeAwait(const AttemptId& attempt, int64_t id);

  EventLoop& loop_;
  const std::function<void()> on_watch_end_;
  int64_t last_id_ = 0;
  std::map<AttemptId, std::unique_ptr<Await>> awaits_;
  std::map<int64_t, std::unique_ptr<Watch>> watches_;
};

}  // namespace tony::am
