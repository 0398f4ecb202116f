// Calls that are answered later: an executor's Await until there is a command, a client's Watch until there is news, a
// client's ReadLogs until executors have sent their logs. Loop thread only. A caller that goes away is forgotten.
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

// Readers of logs that lie with the executors: a client asks the master, the master the executors, in the answer to the
// Await that each has parked, and they send what they have. Nothing of it is journalled or outlives the master. Loop
// thread only.
//
//   ReadLogs --> one ask for each task --Await--> executor --SendLog--> ReadLogs is answered
//
// A call without a wait is answered when all of its asks are; one with a wait when one is, and those that follow at
// once. What the others have been asked stays with them: the reader's next call finds it there, and so does another
// reader at the same place. An ask that no executor takes, or answers, within seconds is a problem of its logs alone.
class LogRelay {
 public:
  static constexpr size_t kMostCalls = 32;        // of all readers together, each with at most kMostLogBytes of text
  static constexpr size_t kMostAsksOfTask = 8;    // one more: the oldest that nobody waits for goes
  static constexpr Duration kAwaitLimit{2000};    // until an executor awaits something: it does so all the time
  static constexpr Duration kLeftLimit{200};      // the same, where the attempt has ended and it may have left
  static constexpr Duration kAnswerLimit{2000};   // of an executor, beyond its wait
  static constexpr Duration kLongestDelay{3000};  // of an executor's release

  struct Master {
    std::function<void(const TaskId&)> on_asks;  // there are new ones; never from inside a call of Read()
    std::function<bool(const AttemptId&)> has_ended;
  };
  LogRelay(EventLoop& loop, Master master) : loop_(loop), master_(std::move(master)) {}

  void Read(const LogQuery& query, const Reply<LogAnswer>& reply);
  std::vector<LogAsk> TakeAsks(const TaskId& task);  // for the executor of the task, which has none of them yet
  void Take(const TaskId& task, int64_t id, std::vector<LogNews> news);  // of another task, or not asked: ignored
  // Whether somebody is about to read the rest of what the attempt has written, so that its executor should stay for a
  // moment.
  bool DelaysRelease(const AttemptId& attempt);

 private:
  struct Ask {
    LogAsk ask;
    TaskId task;
    bool is_given = false;
    std::set<int64_t> calls;  // those that wait for it
    EventLoop::Timer limit;
  };
  struct Call {
    std::vector<LogWant> wants;
    bool waits = false;
    std::map<int64_t, std::vector<int>> asked;  // by ask: the places of its wants
    LogAnswer answer;
    Reply<LogAnswer> reply;
    EventLoop::Timer gathering;
  };
  struct Readers {
    std::vector<int64_t> asks;  // oldest first
    Instant active{};           // the last call or answer
    bool has_all = false;       // the last answer was the last piece
    int delayed = 0;            // the attempt whose release is delayed
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
  std::map<TaskId, Readers> readers_;  // of tasks that somebody has read
};

}  // namespace tony::am
