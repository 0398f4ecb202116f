// Handles the files of one attempt: its lock, its working directory, the notice to its program, and the values that the
// program publishes. Also measures how long the attempt has written nothing to its logs.
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

// Creates the folder logs/<task>/<n>/ and locks the file `lock` in it. Closing the descriptor releases the lock.
// kUnavailable: another executor runs this attempt.
Result<UniqueFd> LockAttempt(const AttemptFolder& folder);

// Creates the working directory work/<task>/<n>/ and writes `files`. Links or copies the staged files of the job and of
// the role into the directory.
Status PrepareWorkFolder(const JobRecords& records, const std::string& role, const AttemptFolder& folder,
                         const std::vector<TaskFile>& files);

// Writes a notice for the program: {"reason":"preempted","deadline":"2026-01-31T12:00:04.000Z"}. The program never sees
// an incomplete notice, because the complete file is renamed into place.
Status WriteNotice(const std::filesystem::path& file, const std::string& reason, Instant deadline);

// Watches the file in which a program publishes values. Loop thread only. Create the watch after the attempt's
// processes have been started.
class PublishWatch {
 public:
  // Calls `tell` with all values published so far whenever a further name of `names` gets a value. After all names have
  // values, `tell` is not called again.
  PublishWatch(EventLoop& loop, std::filesystem::path file, std::vector<std::string> names,
               std::function<void(const PublishedValues&)> tell);

  // Reads the file at once. Call this when the program has ended.
  void Look();

 private:
  void LookLater();

  EventLoop& loop_;
  const std::filesystem::path file_;
  const std::vector<std::string> names_;
  const std::function<void(const PublishedValues&)> tell_;
  PublishedValues told_;
  std::unique_ptr<EventLoop::Handle> watch_;
  // The timer of the first read. If the folder cannot be watched, also the timer of the later reads.
  EventLoop::Timer timer_;
};

// Returns the values in the first 64 KiB of `file`. Returns no values if `file` is a link, a pipe, or otherwise not a
// regular file. A pipe does not block the call.
PublishedValues ReadPublished(const std::filesystem::path& file, const std::vector<std::string>& names);

class OutputWatch {
 public:
  // Watches the log files `logs`. The time without output is counted from `start` at the earliest.
  OutputWatch(std::vector<std::filesystem::path> logs, Instant start);

  Duration Quiet(Instant now);

 private:
  const std::vector<std::filesystem::path> logs_;
  int64_t written_ = 0;
  Instant looked_, wrote_;
};

}  // namespace tony::executor
