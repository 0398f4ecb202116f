#include "runtime/logs/local_log_source.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <limits>

#include "runtime/base/strings.h"
#include "runtime/os/files.h"

namespace tony {
namespace {

// Returns the end of the hole at `offset`.
off_t EndOfHole(int fd, off_t offset) {
  struct stat info {};
  if (fstat(fd, &info) != 0 || info.st_size <= offset) return offset;
  const off_t data = lseek(fd, offset, SEEK_DATA);
  return data >= 0 ? data : info.st_size;  // the hole reaches the file's end
}

// The last second of the year 9999.
constexpr int64_t kLatest = 253'402'300'799;

// Returns the time of the last write. The time is limited, because the owner of a file may set any time.
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

constexpr uint32_t kEvents = IN_CREATE | IN_MODIFY | IN_MOVED_TO;
constexpr size_t kBuffer = 8 << 10;  // on the stack

}  // namespace

LogBytes ReadLog(int fd, int64_t offset, std::span<char> buffer) {
  off_t at = offset;
  // If the log is cut again during the read, the text behind the cut is read. After eight tries, no text is returned,
  // and the next read tries again.
  for (int attempt = 0; attempt < 8; ++attempt) {
    const ssize_t got = pread(fd, buffer.data(), buffer.size(), at);
    if (got <= 0) break;
    // The position of the hole is determined after the read. Holes only grow. Therefore text that is outside the hole
    // now was also outside it during the read.
    const off_t hole = lseek(fd, at, SEEK_HOLE);
    if (hole < 0 || hole >= at + got) return {at - offset, static_cast<size_t>(got)};
    if (hole > at) return {at - offset, static_cast<size_t>(hole - at)};
    at = EndOfHole(fd, at);
  }
  return {at - offset, 0};
}

std::vector<LogPart> PartsOfLog(int fd) {
  std::vector<LogPart> parts;
  for (off_t at = 0; (at = lseek(fd, at, SEEK_DATA)) >= 0;) {
    const off_t hole = lseek(fd, at, SEEK_HOLE);
    if (hole <= at) break;  // the log was cut meanwhile
    parts.push_back({static_cast<uint64_t>(at), static_cast<uint64_t>(hole)});
    at = hole;
  }
  return parts;
}

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
  if (log.ok()) return LogOf(std::move(log->fd));
  const ErrorCode code = log.error().code;
  const std::lock_guard lock(mutex_);
  if (code == ErrorCode::kNotPermitted || code == ErrorCode::kUnavailable)
    unread_[attempt] = StrCat("open ", stream, ": ", log.error().message);
  return nullptr;
}

Status LocalLogSource::Unread() const {
  const std::lock_guard lock(mutex_);
  return UnreadError(unread_);
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

LocalLogWatch::LocalLogWatch(EventLoop& loop, const JobRecords& records, std::optional<TaskId> task, LogWatchSink sink)
    : records_(records),
      task_(std::move(task)),
      sink_(std::move(sink)),
      inotify_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)),
      blind_(!inotify_.valid()) {
  if (!blind_) watch_ = loop.WhenReadable(inotify_.get(), [this] { Drain(); });
}

// A folder is watched before it is listed, so that no change between these two steps is missed.
void LocalLogWatch::Look() {
  Add("", {Place::Kind::kJob, {}});
  Add("logs", {Place::Kind::kLogs, {}});
  if (task_) return LookAtTask(FolderName(*task_));
  for (const std::string& name : FolderNames(OpenBelow(records_, "logs"))) LookAtTask(name);
}

void LocalLogWatch::LookAtTask(const std::string& folder_name) {
  const auto task = TaskOfFolder(folder_name);
  if (!task || (task_ && *task_ != *task)) return;
  const std::filesystem::path below = std::filesystem::path("logs") / folder_name;
  const UniqueFd folder = OpenBelow(records_, below);
  if (!folder.valid()) return;
  Add(below, {Place::Kind::kTask, {*task, 0}});
  std::set<int> numbers;  // sorted
  for (const std::string& name : FolderNames(folder)) {
    if (const auto number = AttemptOfFolder(name)) numbers.insert(*number);
  }
  for (const int number : numbers) {
    const AttemptId attempt{*task, number};
    if (told_.contains(attempt)) continue;
    Add(below / std::to_string(number), {Place::Kind::kAttempt, attempt});
    told_.insert(attempt);
    sink_.on_attempt(attempt);
  }
}

void LocalLogWatch::Add(const std::filesystem::path& below, Place place) {
  if (!inotify_.valid() || watched_.contains(below)) return;
  // Below the job's folder, links are not followed. When a folder replaces a link, the watch of the parent folder
  // reports the change.
  const uint32_t links = place.kind == Place::Kind::kJob ? 0 : IN_DONT_FOLLOW;
  const int watch = inotify_add_watch(inotify_.get(), (records_.place() / below).c_str(), kEvents | IN_ONLYDIR | links);
  if (watch < 0) {
    blind_ = blind_ || (errno != ENOENT && errno != ENOTDIR);
    return;
  }
  watched_.insert(below);
  places_[watch] = std::move(place);
}

void LocalLogWatch::Drain() {
  alignas(inotify_event) char events[kBuffer];
  const bool was_blind = blind_;
  const ssize_t got = read(inotify_.get(), events, sizeof events);
  for (ssize_t at = 0; at < got;) {
    const auto& event = reinterpret_cast<const inotify_event&>(events[at]);
    at += static_cast<ssize_t>(sizeof event + event.len);
    if ((event.mask & IN_Q_OVERFLOW) != 0) {
      Look();
      sink_.on_missed();
    } else {
      OnEvent(event.wd, event.len > 0 ? event.name : "");
    }
  }
  if (blind_ && !was_blind) sink_.on_missed();
}

void LocalLogWatch::OnEvent(int watch, const std::string& name) {
  const auto found = places_.find(watch);
  if (found == places_.end()) return;
  // The place is copied, because the calls below may add places.
  const Place place = found->second;
  switch (place.kind) {
    case Place::Kind::kJob:
      if (name == "logs") Look();
      if (name == "status.json") sink_.on_status();
      return;
    case Place::Kind::kLogs:
      return LookAtTask(name);
    case Place::Kind::kTask:
      return LookAtTask(FolderName(place.attempt.task));
    case Place::Kind::kAttempt:
      // The executor writes outcome.json last, so this file shows that the attempt has ended.
      return name == "outcome.json" ? sink_.on_ended(place.attempt) : sink_.on_written(place.attempt, name);
  }
}

}  // namespace tony
