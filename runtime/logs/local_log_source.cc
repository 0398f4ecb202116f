#include "runtime/logs/local_log_source.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <limits>

#include "runtime/base/strings.h"
#include "runtime/logs/local_log_watch.h"
#include "runtime/logs/log_holes.h"
#include "runtime/os/files.h"

namespace tony {
namespace {

constexpr int64_t kLatest = 253'402'300'799;  // the last second that is written with four digits for its year

// Whoever owns a file may give it any time.
Instant ChangeOf(const struct stat& info) {
  const int64_t seconds = std::clamp<int64_t>(info.st_mtim.tv_sec, 0, kLatest);
  return FromMillis(seconds * 1000 + info.st_mtim.tv_nsec / 1'000'000);
}

class LocalLog : public LogStream {
 public:
  explicit LocalLog(UniqueFd file) : file_(std::move(file)) {}
  LogBytes Read(int64_t offset, std::span<char> buffer) const override { return ReadLog(file_.get(), offset, buffer); }
  std::vector<LogPart> Parts() const override { return PartsOfLog(file_.get()); }
  int64_t Size() const override {
    struct stat info {};
    return fstat(file_.get(), &info) == 0 ? info.st_size : 0;
  }
  std::optional<Instant> Changed() const override {
    struct stat info {};
    return fstat(file_.get(), &info) == 0 ? std::optional(ChangeOf(info)) : std::nullopt;
  }

 private:
  const UniqueFd file_;
};

std::optional<LogFile> LookAt(const UniqueFd& folder, std::string_view name) {
  struct stat info {};
  const bool there = fstatat(folder.get(), std::string(name).c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
  if (!there || !S_ISREG(info.st_mode)) return std::nullopt;
  return LogFile{info.st_size, ChangeOf(info)};
}

UniqueFd OpenLogFolder(const JobRecords& records, const AttemptId& attempt) {
  return OpenBelow(records, std::filesystem::path("logs") / FolderName(attempt.task) / std::to_string(attempt.number));
}

bool IsFolder(DIR* parent, const dirent& entry) {
  if (entry.d_type != DT_UNKNOWN) return entry.d_type == DT_DIR;
  struct stat info {};
  return fstatat(dirfd(parent), entry.d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode);
}

}  // namespace

std::unique_ptr<LogStream> LogOf(UniqueFd file) { return std::make_unique<LocalLog>(std::move(file)); }

std::vector<AttemptId> LocalLogSource::Attempts(const std::optional<TaskId>& task) const {
  std::vector<AttemptId> attempts;
  const std::filesystem::path logs = "logs";
  for (const std::string& name : FolderNames(OpenBelow(records_, logs))) {
    const auto found = TaskOfFolder(name);
    if (!found || (task && *task != *found)) continue;
    for (const std::string& number : FolderNames(OpenBelow(records_, logs / name)))
      if (const auto attempt = AttemptOfFolder(number)) attempts.push_back({*found, *attempt});
  }
  std::ranges::sort(attempts);
  return attempts;
}

std::unique_ptr<LogStream> LocalLogSource::Open(const AttemptId& attempt, std::string_view stream) const {
  const UniqueFd folder = OpenLogFolder(records_, attempt);
  if (!folder.valid()) return nullptr;
  auto log = OpenRegularFile(stream, O_RDONLY, folder.get());
  return log.ok() ? LogOf(std::move(log->fd)) : nullptr;
}

int LocalLogSource::Processes(const TaskId& task) const {
  const std::lock_guard lock(mutex_);
  if (!spec_) {
    if (auto spec = records_.ReadSpec(); spec.ok()) spec_ = *std::move(spec);
  }
  return spec_ ? spec_->ProcessesOf(task.role) : 1;
}

std::optional<LogSource::Files> LocalLogSource::List(const AttemptId& attempt) const {
  const UniqueFd folder = OpenLogFolder(records_, attempt);
  if (!folder.valid()) return std::nullopt;
  Files files;
  for (const std::string& name : LogNames(Processes(attempt.task))) files.push_back(LookAt(folder, name));
  return files;
}

std::unique_ptr<LogWatch> LocalLogSource::Watch(EventLoop& loop, const std::optional<TaskId>& task,
                                                LogWatchSink sink) const {
  return std::make_unique<LocalLogWatch>(loop, records_, task, std::move(sink));
}

UniqueFd OpenBelow(const JobRecords& job, const std::filesystem::path& below) {
  constexpr int kFlags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  UniqueFd folder(open(job.place().c_str(), kFlags));
  for (const auto& name : below) folder = UniqueFd(openat(folder.get(), name.c_str(), kFlags | O_NOFOLLOW));
  return folder;
}

std::vector<std::string> FolderNames(const UniqueFd& folder) {
  UniqueFd list(openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(list.valid() ? fdopendir(list.get()) : nullptr, closedir);
  std::vector<std::string> names;
  if (!entries) return names;
  list.Release();
  while (const dirent* entry = readdir(entries.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != ".." && IsFolder(entries.get(), *entry)) names.push_back(name);
  }
  return names;
}

std::optional<TaskId> TaskOfFolder(const std::string& name) {
  const size_t dash = name.rfind('-');
  if (dash == std::string::npos) return {};
  const auto task = ParseTaskId(StrCat(name.substr(0, dash), ":", name.substr(dash + 1)));
  return task.ok() && FolderName(*task) == name ? std::optional(*task) : std::nullopt;
}

std::optional<int> AttemptOfFolder(const std::string& name) {
  const auto number = ParseInt(name);
  if (!number || *number < 1 || *number > std::numeric_limits<int>::max() || StrCat(*number) != name) return {};
  return static_cast<int>(*number);
}

}  // namespace tony
