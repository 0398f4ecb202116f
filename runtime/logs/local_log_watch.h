// Tells what was written to the logs of a job that are files here. One inotify instance for all folders: a user may
// have only 128 of them. Where the limits of instances or watches are reached, it says so and tells nothing of what it
// cannot see.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "runtime/base/event_loop.h"
#include "runtime/base/unique_fd.h"
#include "runtime/logs/log_source.h"
#include "runtime/records/job_records.h"

namespace tony {

class LocalLogWatch : public LogWatch {
 public:
  LocalLogWatch(EventLoop& loop, const JobRecords& records, std::optional<TaskId> task, LogWatchSink sink);

  void Look() override;
  bool is_blind() const override { return blind_; }

 private:
  struct Place {  // a watched folder: the job's, that of its logs, a task's, an attempt's
    enum class Kind { kJob, kLogs, kTask, kAttempt } kind;
    AttemptId attempt;  // its task alone for kTask
  };
  void Drain();
  void OnEvent(int watch, const std::string& name);
  void Add(const std::filesystem::path& below, Place place);  // a path from the job's folder on
  void LookAtTask(const std::string& folder_name);

  const JobRecords records_;
  const std::optional<TaskId> task_;  // the only one that is wanted
  const LogWatchSink sink_;
  UniqueFd inotify_;
  bool blind_ = false;
  std::map<int, Place> places_;              // by watch
  std::set<std::filesystem::path> watched_;  // paths from the job's folder on
  std::set<AttemptId> told_;
  EventLoop::FdWatch watch_;  // after inotify_: released before it is closed
};

}  // namespace tony
