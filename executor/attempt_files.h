// The folders of one attempt: its lock, and the working directory of its process.
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

// Takes logs/<task>/<n>/lock, making the folder. kUnavailable: another executor runs this attempt. Held until closed.
Result<UniqueFd> LockAttempt(const AttemptFolder& folder);

// Makes work/<task>/<n>/ with `files` and the staged files of the job and the role.
Status PrepareWorkFolder(const JobRecords& records, const std::string& role, const AttemptFolder& folder,
                         const std::vector<GivenFile>& files);

// What a program finds of a notice: {"reason":"preempted","deadline":"2026-01-31T12:00:04.000Z"}; whole, or not there.
Status WriteNotice(const std::filesystem::path& file, const std::string& reason, Instant deadline);

// Looks for what a program publishes in a file.

// Loop thread only. Made when the attempt's process has been started.
class PublishWatch {
 public:
  // `tell` is called with all values there are whenever one of `names` has come; no more once all have.
  PublishWatch(EventLoop& loop, std::filesystem::path file, std::vector<std::string> names,
               std::function<void(const PublishedValues&)> tell);

  void Look();  // now: the program has ended

 private:
  void LookLater();

  EventLoop& loop_;
  const std::filesystem::path file_;
  const std::vector<std::string> names_;
  const std::function<void(const PublishedValues&)> tell_;
  PublishedValues told_;
  std::unique_ptr<EventLoop::Handle> watch_;
  EventLoop::Timer timer_;  // where nothing can be watched
};

// The values in the first 64 KiB of `file`; none where it is no regular file. Never waits for a pipe, follows no link.
PublishedValues ReadPublished(const std::filesystem::path& file, const std::vector<std::string>& names);

// Since when an attempt has written nothing.

class OutputWatch {
 public:
  // To these files, from `start` on.
  OutputWatch(std::vector<std::filesystem::path> logs, Instant start);

  Duration Quiet(Instant now);

 private:
  const std::vector<std::filesystem::path> logs_;
  int64_t written_ = 0;
  Instant looked_, wrote_;
};

}  // namespace tony::executor
