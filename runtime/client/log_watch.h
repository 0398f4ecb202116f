// Tells when something was written to the logs of a job. One inotify instance for all folders: a user may have only
// 128 of them.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "runtime/store/job_folder.h"

namespace tony {

class LogWatch {
 public:
  explicit LogWatch(const JobFolder& folder) : folder_(folder) {}

  // Calls `on_change` on the loop after the job's folder or a log folder has changed. Several changes may be one call.
  Status Start(EventLoop& loop, EventLoop::Callback on_change);

  // Watches the folders of attempts that have come since. Call it before reading, so that nothing falls between.
  void AddFolders();

 private:
  void Add(const std::filesystem::path& folder);
  void Drain();

  const JobFolder folder_;
  UniqueFd inotify_;
  std::set<std::string> watched_;
  EventLoop::FdWatch watch_;  // after inotify_: released before it is closed
};

}  // namespace tony
