// The files of one attempt: its lock, its working directory, the notice for the program, and the values that it
// publishes. Also the time since the attempt last wrote to its logs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/base/unique_fd.h"
#include "runtime/framework/task_command.h"
#include "runtime/job/ids.h"
#include "runtime/job/outputs.h"
#include "runtime/records/attempt_folder.h"
#include "runtime/records/job_records.h"

namespace tony::executor {

// Creates the folder logs/<task>/<n>/ and locks its file `lock`. The lock is held until the descriptor is closed.
// kUnavailable: another executor runs this attempt.
Result<UniqueFd> LockAttempt(const AttemptFolder& folder);

// Creates work/<task>/<n>/ with `files` and the staged files of the job and the role.
Status PrepareWorkFolder(const JobRecords& records, const std::string& role, const AttemptFolder& folder,
                         const std::vector<TaskFile>& files);

// Writes a notice for the program: {"reason":"preempted","deadline":"2026-01-31T12:00:04.000Z"}. The program sees the
// whole file or none, because the file is renamed into place.
Status WriteNotice(const std::filesystem::path& file, const std::string& reason, Instant deadline);

// Watches the file in which a program publishes values. Loop thread only. To be created once the attempt's processes
// have been started.
class PublishWatch {
 public:
  // Calls `tell` with all published values whenever a new one of `names` appears. No further call follows when all
  // names have values.
  PublishWatch(EventLoop& loop, std::filesystem::path file, std::vector<std::string> names,
               std::function<void(const PublishedValues&)> tell);

  // Reads the file now. To be called when the program has ended.
  void Look();

 private:
  void LookLater();

  EventLoop& loop_;
  const std::filesystem::path file_;
  const std::vector<std::string> names_;
  const std::function<void(const PublishedValues&)> tell_;
  PublishedValues told_;
  std::unique_ptr<EventLoop::Handle> watch_;
  // The timer of the first read, and of later reads if the folder cannot be watched.
  EventLoop::Timer timer_;
};

// Returns the values in the first 64 KiB of `file`; no values if it is not a regular file. Never blocks on a pipe, and
// follows no link.
PublishedValues ReadPublished(const std::filesystem::path& file, const std::vector<std::string>& names);

class OutputWatch {
 public:
  // Watches the log files `logs`. The time without output counts from `start`.
  OutputWatch(std::vector<std::filesystem::path> logs, Instant start);

  Duration Quiet(Instant now);

 private:
  const std::vector<std::filesystem::path> logs_;
  int64_t written_ = 0;
  Instant looked_, wrote_;
};

}  // namespace tony::executor
