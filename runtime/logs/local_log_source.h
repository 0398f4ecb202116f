// Logs that are files below a folder of this machine: logs/<role>-<index>/<attempt>/<stream>.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/unique_fd.h"
#include "runtime/job/job_spec.h"
#include "runtime/logs/log_source.h"
#include "runtime/records/job_records.h"

namespace tony {

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

}  // namespace tony
