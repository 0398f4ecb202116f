#include "executor/publish_watch.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "runtime/base/log.h"
#include "runtime/os/file_watch.h"
#include "runtime/os/files.h"

namespace tony::executor {
namespace {

constexpr size_t kReadOfFile = 64 << 10;
constexpr Duration kWithoutWatch{1000};

}  // namespace

PublishWatch::PublishWatch(EventLoop& loop, std::filesystem::path file, std::vector<std::string> names,
                           std::function<void(const PublishedValues&)> tell)
    : loop_(loop), file_(std::move(file)), names_(std::move(names)), tell_(std::move(tell)) {
  auto watch = WatchFolder(loop_, file_.parent_path(), [this] { Look(); });
  if (watch.ok()) {
    watch_ = *std::move(watch);
  } else {
    LogWarn(watch.error().message);
  }
  LookLater();
}

// Once at once: the process may have been faster than the watch.
void PublishWatch::LookLater() {
  timer_ = loop_.After(timer_ ? kWithoutWatch : Duration(0), [this] {
    Look();
    if (!watch_ && told_.size() < names_.size()) LookLater();
  });
}

void PublishWatch::Look() {
  if (told_.size() == names_.size()) return;
  PublishedValues values = ReadPublished(file_, names_);
  if (values.size() <= told_.size()) return;
  told_ = std::move(values);
  if (told_.size() == names_.size()) watch_.reset();
  tell_(told_);
}

PublishedValues ReadPublished(const std::filesystem::path& file, const std::vector<std::string>& names) {
  const auto opened = OpenRegularFile(file, O_RDONLY);
  if (!opened.ok()) return {};
  std::string text(kReadOfFile, '\0');
  const ssize_t got = pread(opened->fd.get(), text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return ParsePublished(text, names);
}

}  // namespace tony::executor
