#include "runtime/logs/local_log_source.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <limits>
#include <system_error>

#include "runtime/base/strings.h"
#include "runtime/logs/local_log_watch.h"
#include "runtime/logs/log_holes.h"

namespace tony {
namespace {

class LocalLog : public LogStream {
 public:
  explicit LocalLog(UniqueFd file) : file_(std::move(file)) {}
  LogBytes Read(int64_t offset, std::span<char> buffer) const override { return ReadLog(file_.get(), offset, buffer); }
  std::vector<LogPart> Parts() const override { return PartsOfLog(file_.get()); }
  int64_t Size() const override {
    struct stat info {};
    return fstat(file_.get(), &info) == 0 ? info.st_size : 0;
  }

 private:
  const UniqueFd file_;
};

constexpr int64_t kLatest = 253'402'300'799;  // the last second that is written with four digits for its year

// Whoever owns a file may give it any time.
Instant ChangeOf(const struct stat& info) {
  const int64_t seconds = std::clamp<int64_t>(info.st_mtim.tv_sec, 0, kLatest);
  return FromMillis(seconds * 1000 + info.st_mtim.tv_nsec / 1'000'000);
}

std::optional<LogFile> LookAt(const UniqueFd& folder, std::string_view name) {
  struct stat info {};
  const bool there = fstatat(folder.get(), std::string(name).c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
  if (!there || !S_ISREG(info.st_mode)) return std::nullopt;
  return LogFile{info.st_size, ChangeOf(info)};
}

// Its tasks own what is below the folder of the logs, and may put anything in the place of a folder, too.
UniqueFd OpenFolder(const JobFolder& folder, const AttemptId& attempt) {
  return UniqueFd(open(folder.LogFolder(attempt).c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

}  // namespace

std::unique_ptr<LogStream> LogOf(UniqueFd file) { return std::make_unique<LocalLog>(std::move(file)); }

std::vector<AttemptId> LocalLogSource::Attempts(const std::optional<TaskId>& task) const {
  std::vector<AttemptId> attempts;
  for (const std::string& name : FolderNames(folder_.path() / "logs")) {
    const auto found = TaskOfFolder(name);
    if (!found || (task && *task != *found)) continue;
    for (const std::string& number : FolderNames(folder_.path() / "logs" / name))
      if (const auto attempt = AttemptOfFolder(number)) attempts.push_back({*found, *attempt});
  }
  std::ranges::sort(attempts);
  return attempts;
}

std::unique_ptr<LogStream> LocalLogSource::Open(const AttemptId& attempt, std::string_view stream) const {
  const UniqueFd folder = OpenFolder(folder_, attempt);
  if (!folder.valid()) return nullptr;
  // A link is not followed, and opening a pipe does not block.
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW;
  UniqueFd file(openat(folder.get(), std::string(stream).c_str(), kFlags));
  struct stat info {};
  if (!file.valid() || fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return nullptr;
  return LogOf(std::move(file));
}

std::optional<LogSource::Files> LocalLogSource::List(const AttemptId& attempt) const {
  const UniqueFd folder = OpenFolder(folder_, attempt);
  if (!folder.valid()) return std::nullopt;
  Files files;
  for (size_t i = 0; i < kLogNames.size(); ++i) files[i] = LookAt(folder, kLogNames[i]);
  return files;
}

std::unique_ptr<LogWatch> LocalLogSource::Watch(EventLoop& loop, const std::optional<TaskId>& task,
                                                LogWatchSink sink) const {
  return std::make_unique<LocalLogWatch>(loop, folder_, task, std::move(sink));
}

std::optional<TaskId> TaskOfFolder(const std::string& name) {
  const size_t dash = name.rfind('-');
  if (dash == std::string::npos) return {};
  const auto task = ParseTaskId(StrCat(name.substr(0, dash), ":", name.substr(dash + 1)));
  return task.ok() ? std::optional(*task) : std::nullopt;
}

std::optional<int> AttemptOfFolder(const std::string& name) {
  const auto number = ParseInt(name);
  if (!number || *number < 1 || *number > std::numeric_limits<int>::max()) return {};
  return static_cast<int>(*number);
}

std::vector<std::string> FolderNames(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    names.push_back(entry->path().filename().string());
  return names;
}

}  // namespace tony
