// Parks calls that are answered later. An executor's Await is answered when a new command exists for the executor. A
// client's Watch is answered when the status has changed, and a client's ReadLogs when executors have sent their logs.
// A call whose caller disconnects is dropped. Loop thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/event_loop.h"
#include "runtime/job/log_pieces.h"
#include "runtime/rpc/rpc_server.h"

namespace tony::am {

class ParkedCalls {
 public:
  // `on_watch_end` is called when a Watch has been answered or its caller has disconnected.
  explicit ParkedCalls(
      EventLoop& loop, std::function<void()> on_watch_end = [] {})
      : loop_(loop), on_watch_end_(std::move(on_watch_end)) {}

  // Parks the Await of an attempt. If the attempt has a parked Await already, that call is answered "no news". Each
  // Await is answered "no news" after 30 s, so that its caller notices a connection that has become silent.
  void ParkAwait(const AttemptId& attempt, int64_t since, const Reply<Command>& reply);
  // Returns the newest attempt of the task with a parked Await; nullopt if no attempt has one.
  std::optional<AttemptId> AttemptAwaiting(const TaskId& task) const;
  // Answers the attempt's Await with log requests. The executor calls Await again.
  void AskForLogs(const AttemptId& attempt, std::vector<LogAsk> asks);
  // Answers the attempt's Await, or all Await calls, with tokens for the cluster. The executors call Await again.
  void SendTokens(const AttemptId& attempt, const ClusterTokens& tokens);
  void SendTokensToAll(const ClusterTokens& tokens);
  // Answers the attempt's Await if the command's number is greater than its `since`.
  void Tell(const AttemptId& attempt, const Command& command);

  // Parks a Watch. After `limit` the call is answered with the result of `status`.
  void ParkWatch(int64_t since, Duration limit, const Reply<StatusAnswer>& reply, std::function<StatusAnswer()> status);
  bool AnyWatch() const { return !watches_.empty(); }
  // Answers the parked Watch calls for which this status is news.
  void Tell(const StatusAnswer& answer);
  void TellAll(const StatusAnswer& answer);  // answers all calls

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

// Passes logs from executors to clients. A client requests logs from the AM. The AM requests them from the executors,
// as the answers to their parked Await calls. The executors send the logs. Nothing is journalled, and nothing outlives
// the AM. Loop thread only.
//
//   ReadLogs --> one request for each task --Await--> executor --SendLog--> ReadLogs is answered
//
// A call without a wait is answered when all its requests are answered. A call with a wait is answered when one request
// is answered, together with answers that follow at once. The other requests stay with their executors. The reader's
// next call waits for these requests, as does a call of another reader for the same piece. If no executor takes or
// answers a request within seconds, only the logs of this request get an error.
class LogRelay {
 public:
  // At most this many ReadLogs calls of all readers wait at the same time, each with at most kMostLogBytes of text.
  static constexpr size_t kMostCalls = 32;
  // At most this many requests for one task exist at the same time. A further request replaces the oldest request that
  // no call waits for.
  static constexpr size_t kMostAsksOfTask = 8;
  // The time in which an executor has to call Await to receive a log request. A connected executor calls Await again as
  // soon as its previous call is answered.
  static constexpr Duration kAwaitLimit{2000};
  // The time in which the executor of an ended attempt has to call Await. The time is shorter than kAwaitLimit, because
  // this executor may have exited, and a longer wait would only delay the answer to the client.
  static constexpr Duration kLeftLimit{200};
  // The time in which an executor has to answer a log request, in addition to the wait that the request contains.
  static constexpr Duration kAnswerLimit{2000};
  static constexpr Duration kLongestDelay{3000};  // longest delay of an executor's release

  struct Master {
    // Called when the task has new requests; never called from inside Read().
    std::function<void(const TaskId&)> on_asks;
    std::function<bool(const AttemptId&)> has_ended;
  };
  LogRelay(EventLoop& loop, Master master) : loop_(loop), master_(std::move(master)) {}

  void Read(const LogQuery& query, const Reply<LogAnswer>& reply);
  // Returns the requests that the task's executor has not received yet, and marks them as sent.
  std::vector<LogAsk> TakeAsks(const TaskId& task);
  // Takes an executor's answer. An answer from another task, or to an unknown request, is ignored.
  void Take(const TaskId& task, int64_t id, std::vector<LogNews> news);
  // Returns true if a client is about to read the rest of the attempt's logs. The executor should stay for a moment
  // then.
  bool DelaysRelease(const AttemptId& attempt);

 private:
  struct Ask {
    LogAsk ask;
    TaskId task;
    bool is_given = false;
    std::set<int64_t> calls;  // calls that wait for this request
    EventLoop::Timer limit;
  };
  struct Call {
    std::vector<LogWant> wants;
    bool waits = false;
    // The logs that each request is for, as indices into `wants`. The key is the id of the request.
    std::map<int64_t, std::vector<int>> asked;
    LogAnswer answer;
    Reply<LogAnswer> reply;
    EventLoop::Timer gathering;
  };
  struct Readers {
    std::vector<int64_t> asks;  // oldest first
    // The time of the newest call or answer.
    Instant active{};
    // True if the newest answer contained the last piece of the logs of an attempt that has ended.
    bool has_all = false;
    int delayed = 0;  // attempt whose release is delayed
    Instant delayed_since{};
  };

  void AskOf(const TaskId& task, const std::vector<int>& places, int64_t most, Duration wait, int64_t call);
  bool MakeRoom(Readers& readers);
  void Resolve(int64_t id, const std::vector<LogNews>& news);
  void Fail(int64_t id, const std::string& problem);
  void Answer(int64_t call);
  void Forget(int64_t call);

  EventLoop& loop_;
  const Master master_;
  int64_t last_id_ = 0;
  std::map<int64_t, Ask> asks_;
  std::map<int64_t, Call> calls_;
  std::map<TaskId, Readers> readers_;  // tasks whose logs were read
};

}  // namespace tony::am
