// Looks for what a program publishes in a file.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/event_loop.h"
#include "runtime/job/published_values.h"

namespace tony::executor {

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

}  // namespace tony::executor
