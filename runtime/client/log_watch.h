// Tells what was written to the logs of a job. One inotify instance for all folders: a user may have only 128 of them.
// Where the limits of instances or watches are reached, it says so and tells nothing of what it cannot see.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "runtime/base/event_loop.h"
#include "runtime/base/unique_fd.h"
#include "runtime/client/log_choice.h"
#include "runtime/store/job_folder.h"

namespace tony {

// Called on the loop.
struct LogWatchSink {
  std::function<void(const AttemptId&)> on_attempt;  // its folder is there; each is told once
  std::function<void(const AttemptId&, const std::string&)>
      on_written;                   // a file in it was made, grew or was renamed to
  std::function<void()> on_status;  // the job's status.json was replaced
  std::function<void()> on_missed;  // anything may have happened
};

class LogWatch {
 public:
  LogWatch(const JobFolder& folder, std::optional<TaskId> task) : folder_(folder), task_(std::move(task)) {}

  // Tells of the attempts that are there already, and of each that comes.
  void Start(EventLoop& loop, LogWatchSink sink);
  // Looks for folders that nobody told of. After it, all that was there before is known.
  void Look();
  // Something is not watched: look from time to time.
  bool is_blind() const { return blind_; }

 private:
  struct Place {  // a watched folder: the job's, that of its logs, a task's, an attempt's
    enum class Kind { kJob, kLogs, kTask, kAttempt } kind;
    AttemptId attempt;  // its task alone for kTask
  };
  void Drain();
  void OnEvent(int watch, const std::string& name);
  void Add(const std::filesystem::path& folder, Place place);
  void LookAtTask(const std::string& folder_name);

  const JobFolder folder_;
  const std::optional<TaskId> task_;  // the only one that is wanted
  LogWatchSink sink_;
  UniqueFd inotify_;
  bool blind_ = false;
  std::map<int, Place> places_;  // by watch
  std::set<std::string> watched_;
  std::set<AttemptId> told_;
  EventLoop::FdWatch watch_;  // after inotify_: released before it is closed
};

}  // namespace tony
