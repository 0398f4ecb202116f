// Reading a file that is a log and may have been cut. Executors free the middle of a log that has outgrown its limit
// (executor/task_logs.h): the file keeps its length, so offsets and cursors stay valid, and what is gone is a hole.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/event_loop.h"
#include "runtime/base/unique_fd.h"
#include "runtime/job/job_spec.h"
#include "runtime/logs/log_source.h"
#include "runtime/records/job_records.h"

namespace tony {

// Of the regular file `fd`, from `offset` on. Never hands out the NULs of a hole, also when the log is cut meanwhile.
// Moves the descriptor's own offset. A file that cannot be read is as good as empty; on a file system that does not
// tell where holes are, they read as NULs.
LogBytes ReadLog(int fd, int64_t offset, std::span<char> buffer);

// Where the file has text, in order: between two parts, and after the last one, it has been cut out.
std::vector<LogPart> PartsOfLog(int fd);

// Logs that are files below a folder of this machine: logs/<role>-<index>/<attempt>/<stream>.

// Any thread, but for the watch.
class LocalLogSource : public LogSource {
 public:
  explicit LocalLogSource(JobRecords records) : records_(std::move(records)) {}

  std::vector<AttemptId> Attempts(const std::optional<TaskId>& task) const override;
  std::unique_ptr<LogStream> Open(const AttemptId& attempt, std::string_view stream) const override;
  int Processes(const TaskId& task) const override;
  std::optional<Files> List(const AttemptId& attempt) const override;
  std::unique_ptr<LogWatch> Watch(EventLoop& loop, const std::optional<TaskId>& task, LogWatchSink sink) const override;

 private:
  const JobRecords records_;
  mutable std::mutex mutex_;
  mutable std::optional<JobSpec> spec_;  // once it could be read; it never changes
};

// The regular file behind a descriptor.
std::unique_ptr<LogStream> LogOf(UniqueFd file);

// A folder below the job's, "logs/worker-3/1", to look at and into. No name of `below` may be a link: tasks own their
// logs and may put anything in a folder's place. The job's own may be reached by links. Not valid: there is none.
UniqueFd OpenBelow(const JobRecords& job, const std::filesystem::path& below);

// Names of the folders in it; none of a folder that cannot be read.
std::vector<std::string> FolderNames(const UniqueFd& folder);

// "worker-3" -> worker:3, and "2" -> 2: what JobRecords::LogFolder() made of them. Nothing: the name of something else.
std::optional<TaskId> TaskOfFolder(const std::string& name);
std::optional<int> AttemptOfFolder(const std::string& name);

// Tells what was written to the logs of a job that are files here. One inotify instance for all folders: a user may
// have only 128 of them. Where the limits of instances or watches are reached, it says so and tells nothing of what it
// cannot see.

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
