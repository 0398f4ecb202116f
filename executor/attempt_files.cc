#include "executor/attempt_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <system_error>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/job/json_fields.h"
#include "runtime/os/file_lock.h"
#include "runtime/os/files.h"

namespace tony::executor {
namespace {

namespace fs = std::filesystem;

// Links the sources of a job that has no record of staged files, because the previous release submitted it.
Status LinkSources(const fs::path& src, const fs::path& work) {
  std::error_code error;
  for (fs::directory_iterator entry(src, error), end; !error && entry != end; entry.increment(error)) {
    const fs::path link = work / entry->path().filename();
    if (symlink(entry->path().c_str(), link.c_str()) != 0 && errno != EEXIST)
      return FileError(ErrorCode::kCannotWrite, "link", link, errno);
  }
  if (error && error != std::errc::no_such_file_or_directory)
    return FileError(ErrorCode::kUnavailable, "list", src, error.value());
  return Ok();
}

// Links the staged files. If several files have the same name, the role's file takes precedence over the job's file. A
// file that the job names takes precedence over the contents of src_dir.
Status LinkAll(const StagedFiles& staged, const std::string& role, const fs::path& work) {
  if (const auto own = staged.roles.find(role); own != staged.roles.end()) TRY(LinkStaged(own->second, work));
  return LinkStaged(staged.job, work);
}

}  // namespace

Result<UniqueFd> LockAttempt(const AttemptFolder& folder) {
  TRY(MakeFolder(folder.logs));
  return TryLockFile(folder.logs / "lock");
}

Status PrepareWorkFolder(const JobRecords& records, const std::string& role, const AttemptFolder& folder,
                         const std::vector<TaskFile>& files) {
  TRY(MakeFolder(folder.work));
  for (const auto& [path, content] : files) TRY(WriteFileByRename(path, content, false));
  TRY_ASSIGN(const auto staged, records.ReadStaged());
  return staged ? LinkAll(*staged, role, folder.work) : LinkSources(records.place() / "src", folder.work);
}

Status WriteNotice(const fs::path& file, const std::string& reason, Instant deadline) {
  const boost::json::object notice = {{"reason", reason}, {"deadline", ToIso8601(deadline)}};
  return WriteFileByRename(file, SerializeJson(notice) + "\n", /*durable=*/false);
}

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

// The first read is immediate, because the process may have written before the watch began.
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

namespace {

Duration SinceEpoch(const timespec& time) {
  return std::chrono::duration_cast<Duration>(std::chrono::seconds(time.tv_sec) +
                                              std::chrono::nanoseconds(time.tv_nsec));
}

}  // namespace

OutputWatch::OutputWatch(std::vector<std::filesystem::path> logs, Instant start)
    : logs_(std::move(logs)), looked_(start), wrote_(start) {}

// The modification times of the files are wall time, which may step. Therefore the time of new output is limited to the
// range from the last check until now.
Duration OutputWatch::Quiet(Instant now) {
  int64_t written = 0;
  Duration newest{0};
  for (const auto& log : logs_) {
    struct stat file {};
    if (stat(log.c_str(), &file) != 0) continue;
    written += file.st_size;
    newest = std::max(newest, SinceEpoch(file.st_mtim));
  }
  if (written != written_) {
    timespec wall{};
    clock_gettime(CLOCK_REALTIME, &wall);
    wrote_ = now - std::clamp(SinceEpoch(wall) - newest, Duration(0), std::max(now - looked_, Duration(0)));
  }
  written_ = written;
  looked_ = now;
  return now - wrote_;
}

}  // namespace tony::executor
