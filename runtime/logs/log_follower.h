// Passes on the text of logs while tasks write them, until the job has ended. The follower is used only on the event
// loop's thread.
//
// Tasks write into files and never wait for the follower. LogWatch reports which stream has grown. The follower reads
// streams in large chunks, one chunk of each task in turn, so that no task delays the others. Text that was read is
// passed on at once, and all other text stays in its log. Therefore the follower needs only one buffer, however slow
// the receiver is.
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
  // Receives whole lines. A line that has no end for a second, or for a megabyte, is passed on unfinished. Text of an
  // attempt follows all text of the attempts before it.
  using Sink = std::function<void(const LogText&)>;
  struct Job {
    const LogSource& logs;  // not owned
    // When `has_ended` returns true, the logs will not grow any more.
    std::function<bool()> has_ended;
  };
  LogFollower(EventLoop& loop, Job job, LogChoice choice, LogCursor& cursor, Sink sink);

  // Calls `done` once the job has ended and everything has been passed on.
  void Start(EventLoop::Callback done);

 private:
  struct Stream {
    TaskStream of_task;
    std::string file;
    // A pointer to the offset in the reader's cursor. The text up to this offset was passed to the reader.
    uint64_t* offset = nullptr;
    // The offset up to which no line end was found.
    uint64_t searched = 0;
    bool grown = true;
    // The time when the last line began to wait for its end.
    Instant waits_since;
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
  void CheckJobEnd();
  void ReadAllStreams();
  void LookAgainIfBlind();
  void CheckWhileBlind();
  void CheckUnfinishedLines();
  void Queue(Task& task);
  void Turn();
  // Returns whether the task may have more text to read.
  bool ReadTask(Task& task);
  bool ReadStream(const Attempt& attempt, Stream& stream, bool ended);
  void SearchLineEnd(const LogStream& log, const Attempt& attempt, Stream& stream, std::string_view text);
  void TakeCut(const LogStream& log, const Attempt& attempt, Stream& stream, int64_t bytes);
  struct Piece {
    uint64_t end;
    bool is_closed;  // the last line will not grow
  };
  // Passes on the text up to the end of `piece`. Returns false if the text has been cut out.
  bool HandOut(const LogStream& log, const Attempt& attempt, Stream& stream, Piece piece);
  void Tell(const Attempt& attempt, Stream& stream, std::string_view text);

  EventLoop& loop_;
  const Job job_;
  const LogChoice choice_;
  LogCursor& cursor_;
  const Sink sink_;
  EventLoop::Callback done_;
  std::string buffer_;
  // The tasks that have an attempt with a log folder.
  std::map<TaskId, Task> tasks_;
  // The oldest attempt that is followed, by task.
  std::map<TaskId, int> oldest_;
  std::deque<Task*> queue_;
  bool turn_posted_ = false;
  bool ended_ = false;
  std::unique_ptr<LogWatch> watch_;
  EventLoop::Timer blindness_, waiting_;
};

}  // namespace tony
