#include "runtime/page/log_list.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <string>

#include "runtime/base/unique_fd.h"

namespace tony {
namespace {

constexpr int64_t kLatest = 253'402'300'799;  // the last second that is written with four digits for its year

// Whoever owns a file may give it any time.
Instant ChangeOf(const struct stat& info) {
  const int64_t seconds = std::clamp<int64_t>(info.st_mtim.tv_sec, 0, kLatest);
  return FromMillis(seconds * 1000 + info.st_mtim.tv_nsec / 1'000'000);
}

std::optional<LogFile> Look(const UniqueFd& folder, std::string_view name) {
  struct stat info {};
  const bool there = fstatat(folder.get(), std::string(name).c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
  if (!there || !S_ISREG(info.st_mode)) return std::nullopt;
  return LogFile{info.st_size, ChangeOf(info)};
}

}  // namespace

std::vector<AttemptLogs> ListLogs(const JobFolder& folder, const TaskStatus& task, int most) {
  std::vector<AttemptLogs> found;
  for (int number = task.attempt; number > std::max(0, task.attempt - most); --number) {
    AttemptLogs logs{.attempt = {task.id, number}, .files = {}};
    const UniqueFd opened(open(folder.LogFolder(logs.attempt).c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!opened.valid()) continue;
    for (size_t i = 0; i < kLogNames.size(); ++i) logs.files[i] = Look(opened, kLogNames[i]);
    found.push_back(std::move(logs));
  }
  return found;
}

}  // namespace tony
