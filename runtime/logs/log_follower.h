// Hands out what tasks write as they write it, until their job has ended. Loop thread only.
//
// Tasks write into their files and never wait for us. We are told which stream grew (LogWatch) and read it in large
// chunks, one of each task in turn, so that no task keeps another from being seen. What has been read is handed out at
// once or left in its log: memory is one buffer, however slow the receiver.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/event_loop.h"
#include "runtime/logs/log_choice.h"
#include "runtime/logs/log_source.h"

namespace tony {

class LogFollower {
 public:
  // Whole lines are handed out; of one that has no end for a second, or for a megabyte, what there is. Text of an
  // attempt comes after all of those before it.
  using Sink = std::function<void(const LogText&)>;
  struct Job {
    const LogSource& logs;            // the caller's, who keeps it
    std::function<bool()> has_ended;  // what is there when it says so is all
  };
  LogFollower(EventLoop& loop, Job job, LogChoice choice, LogCursor& cursor, Sink sink);

  // Calls `done` once the job has ended and everything has been handed out.
  void Start(EventLoop::Callback done);

 private:
  struct Stream {
    TaskStream of_task;
    std::string file;
    uint64_t* offset = nullptr;  // handed out; in the cursor
    uint64_t searched = 0;       // up to here there is no line end
    bool grown = true;
    Instant waits_since;  // for the end of its line
  };
  struct Attempt {
    AttemptId id;
    std::vector<Stream> streams;
    bool ended = false;
  };
  struct Task {
    std::map<int, Attempt> attempts;
    bool queued = false;
  };

  void AddAttempt(const AttemptId& id);
  Attempt* Find(const AttemptId& id);
  void OnWritten(const AttemptId& id, const std::string& stream_name);
  void OnEnded(const AttemptId& id);
  void OnMissed();
  void LookAtJob();
  void LookEverywhere();
  void LookAgainIfBlind();
  void LookAfterBlindness();
  void LookAfterWaiting();
  void Queue(Task& task);
  void Turn();
  bool ReadTask(Task& task);  // whether there may be more
  bool ReadStream(const Attempt& attempt, Stream& stream, bool ended);
  void SearchLineEnd(const LogStream& log, const Attempt& attempt, Stream& stream, std::string_view text);
  void TakeCut(const LogStream& log, const Attempt& attempt, Stream& stream, int64_t bytes);
  struct Piece {
    uint64_t end;
    bool is_closed;  // nothing will be added to its last line
  };
  bool HandOut(const LogStream& log, const Attempt& attempt, Stream& stream,
               Piece piece);  // false: it has been cut out
  void Tell(const Attempt& attempt, Stream& stream, std::string_view text);

  EventLoop& loop_;
  const Job job_;
  const LogChoice choice_;
  LogCursor& cursor_;
  const Sink sink_;
  EventLoop::Callback done_;
  std::string buffer_;
  std::map<TaskId, Task> tasks_;  // those that have an attempt with a log folder
  std::map<TaskId, int> oldest_;  // attempt that is wanted
  std::deque<Task*> queue_;
  bool turn_posted_ = false;
  bool ended_ = false;
  std::unique_ptr<LogWatch> watch_;
  EventLoop::Timer blindness_, waiting_;
};

}  // namespace tony
