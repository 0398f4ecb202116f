// Reads a log file whose middle may have been cut out. Executors free the middle of a log that exceeds its limit
// (executor/task_logs.h). The file keeps its length, so that offsets and cursors stay valid, and the freed text is a
// hole.
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

// Reads the regular file `fd` from `offset` on. Never returns the NULs of a hole, even if the log is cut during the
// read. Moves the descriptor's own offset. A file that cannot be read counts as empty. On a file system that does not
// report holes, the text of a hole is returned as NULs.
LogBytes ReadLog(int fd, int64_t offset, std::span<char> buffer);

// Returns the parts of the file that contain text, in order. The text between two parts, and after the last part, has
// been cut out.
std::vector<LogPart> PartsOfLog(int fd);

// Logs in files below a folder of this machine: logs/<role>-<index>/<attempt>/<stream>.

// All functions may be called on any thread, except Watch().
class LocalLogSource : public LogSource {
 public:
  explicit LocalLogSource(JobRecords records) : records_(std::move(records)) {}

  std::vector<AttemptId> Attempts(const std::optional<TaskId>& task) const override;
  std::unique_ptr<LogStream> Open(const AttemptId& attempt, std::string_view stream) const override;
  int Processes(const TaskId& task) const override;
  std::optional<Files> List(const AttemptId& attempt) const override;
  Status Unread() const override;
  std::unique_ptr<LogWatch> Watch(EventLoop& loop, const std::optional<TaskId>& task, LogWatchSink sink) const override;

 private:
  const JobRecords records_;
  mutable std::mutex mutex_;
  // The job's spec, after the first successful read. The spec never changes.
  mutable std::optional<JobSpec> spec_;
  // The attempts with a file that could not be opened, and the reasons.
  mutable std::map<AttemptId, std::string> unread_;
};

// Returns the log in the regular file behind a descriptor.
std::unique_ptr<LogStream> LogOf(UniqueFd file);

// Opens a folder below the job's folder, e.g. "logs/worker-3/1". No name in `below` may be a link, because tasks own
// their logs and may replace a folder. The path of the job's folder may contain links. Returns an invalid descriptor if
// the folder does not exist.
UniqueFd OpenBelow(const JobRecords& job, const std::filesystem::path& below);

// Returns the names of the folders in `folder`; empty if `folder` cannot be read.
std::vector<std::string> FolderNames(const UniqueFd& folder);

// Return the task and the attempt whose folder has this name: worker:3 for "worker-3", and 2 for "2". Return nullopt
// for names that JobRecords::LogFolder() does not make.
std::optional<TaskId> TaskOfFolder(const std::string& name);
std::optional<int> AttemptOfFolder(const std::string& name);

// Reports what is written to a job's log files on this machine. One inotify instance serves all folders, because a user
// may have only 128 instances. If the limit of instances or watches is reached, is_blind() returns true, and unseen
// changes are not reported.

class LocalLogWatch : public LogWatch {
 public:
  LocalLogWatch(EventLoop& loop, const JobRecords& records, std::optional<TaskId> task, LogWatchSink sink);

  void Look() override;
  bool is_blind() const override { return blind_; }

 private:
  // A watched folder: the job's, the folder of its logs, a task's, or an attempt's.
  struct Place {
    enum class Kind { kJob, kLogs, kTask, kAttempt } kind;
    AttemptId attempt;  // for kTask, only attempt.task counts
  };
  void Drain();
  void OnEvent(int watch, const std::string& name);
  // Watches a folder; `below` is its path relative to the job's folder.
  void Add(const std::filesystem::path& below, Place place);
  void LookAtTask(const std::string& folder_name);

  const JobRecords records_;
  const std::optional<TaskId> task_;  // nullopt: all tasks
  const LogWatchSink sink_;
  UniqueFd inotify_;
  bool blind_ = false;
  std::map<int, Place> places_;              // by watch descriptor
  std::set<std::filesystem::path> watched_;  // paths relative to the job's folder
  std::set<AttemptId> told_;
  // The watch is declared after inotify_, so that it is released before inotify_ is closed.
  EventLoop::FdWatch watch_;
};

}  // namespace tony
