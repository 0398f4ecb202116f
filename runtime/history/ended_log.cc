#include "runtime/history/ended_log.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/history/seen_jobs.h"
#include "runtime/os/files.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

// Writing a log of 100,000 jobs anew takes some tenths of a second; a writer that was stopped keeps nobody longer.
constexpr std::chrono::milliseconds kAppendPatience{2000};
constexpr std::chrono::milliseconds kRewritePatience{10'000};
constexpr std::chrono::microseconds kBetweenTries{200};

// Not if the file was replaced while we waited for its lock.
bool IsStill(int fd, const fs::path& path) {
  struct stat ours {
  }, named{};
  return fstat(fd, &ours) == 0 && stat(path.c_str(), &named) == 0 && ours.st_ino == named.st_ino &&
         ours.st_dev == named.st_dev;
}

// Two bytes of the file are locked, whatever stands there. kWork is: shared by those who append, alone by who writes
// the file anew. That one has kTurn before, and who appends looks there first: else a steady stream of appends would
// keep the lock on kWork shared for ever.
enum LockedByte : off_t { kTurn, kWork };

struct flock LockOf(LockedByte byte, short kind) {
  struct flock lock = {};
  lock.l_type = kind;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return lock;
}

bool TryLock(int fd, LockedByte byte, short kind) {
  struct flock lock = LockOf(byte, kind);
  return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

bool SomebodyHasTurn(int fd) {
  struct flock lock = LockOf(kTurn, F_WRLCK);
  return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

bool TryToAppend(int fd) { return !SomebodyHasTurn(fd) && TryLock(fd, kWork, F_RDLCK); }
bool TryToWriteAnew(int fd) { return TryLock(fd, kTurn, F_WRLCK) && TryLock(fd, kWork, F_WRLCK); }

// Opens the log, or makes it, and locks it by `try_lock`, which may be called again on the same descriptor.
Result<UniqueFd> OpenLocked(const fs::path& path, bool (*try_lock)(int), std::chrono::milliseconds patience) {
  const auto give_up = std::chrono::steady_clock::now() + patience;
  for (;;) {
    UniqueFd fd(open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
    if (!fd.valid()) return FileError(ErrorCode::kCannotWrite, "open", path, errno);
    while (IsStill(fd.get(), path)) {
      if (try_lock(fd.get()) && IsStill(fd.get(), path)) return fd;
      if (std::chrono::steady_clock::now() >= give_up)
        return Error{ErrorCode::kUnavailable, StrCat("lock ", path.string(), ": another process has it")};
      std::this_thread::sleep_for(kBetweenTries);
    }
  }
}

// Where a write was cut short nobody finished the line.
bool EndsWithinLine(int fd) {
  struct stat info {};
  char last = '\n';
  return fstat(fd, &info) == 0 && info.st_size > 0 && pread(fd, &last, 1, info.st_size - 1) == 1 && last != '\n';
}

Result<EndedText> Map(int fd, const fs::path& path) {
  struct stat info {};
  if (fstat(fd, &info) != 0) return FileError(ErrorCode::kUnavailable, "look at", path, errno);
  if (info.st_size == 0) return EndedText();
  void* begin = mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
  if (begin == MAP_FAILED) return FileError(ErrorCode::kUnavailable, "map", path, errno);
  return EndedText(static_cast<const char*>(begin), static_cast<size_t>(info.st_size));
}

// What another version wrote whole is not ours to drop.
std::string LinesOfOthers(std::string_view text) {
  std::string lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if (IsWholeLine(line) && !ReadEndedLine(line)) lines.append(line).push_back('\n');
    at = end + 1;
  }
  return lines;
}

std::string Merged(std::string_view text, const std::vector<EndedJob>& jobs, Instant since) {
  std::map<std::string, EndedJob> by_id;
  ForEachEnded(text, [&](const EndedLine& line) {
    if (line.ended < since) return true;
    EndedJob job = ToEndedJob(line);
    by_id.emplace(job.job.value, std::move(job));
    return true;
  });
  for (const EndedJob& job : jobs) by_id.insert_or_assign(job.job.value, job);
  std::vector<const EndedJob*> order;
  for (const auto& [id, job] : by_id) order.push_back(&job);
  std::ranges::stable_sort(order, {}, [](const EndedJob* job) { return job->ended; });
  std::string merged = LinesOfOthers(text);
  for (const EndedJob* job : order) merged += ToLine(*job);
  return merged;
}

}  // namespace

EndedText::EndedText(EndedText&& other) noexcept : text_(std::exchange(other.text_, {})) {}

EndedText& EndedText::operator=(EndedText&& other) noexcept {
  std::swap(text_, other.text_);
  return *this;
}

EndedText::~EndedText() {
  if (!text_.empty()) munmap(const_cast<char*>(text_.data()), text_.size());
}

Status EndedLog::Append(const EndedJob& job) const {
  TRY(MakeFolder(path().parent_path()));
  TRY_ASSIGN(const UniqueFd fd, OpenLocked(path(), TryToAppend, kAppendPatience));
  const std::string line = StrCat(EndsWithinLine(fd.get()) ? "\n" : "", ToLine(job));
  const ssize_t written = write(fd.get(), line.data(), line.size());
  if (written < 0) return FileError(ErrorCode::kCannotWrite, "write", path(), errno);
  // The rest in a second write could stand behind another's line.
  if (static_cast<size_t>(written) < line.size()) return FileError(ErrorCode::kCannotWrite, "write", path(), ENOSPC);
  return Ok();
}

Status EndedLog::Sync() const {
  TRY_ASSIGN(const bool any, TryIsThere(path()));
  if (!any) return Ok();
  return SyncHome(home_, {path(), path().parent_path()});
}

Result<EndedText> EndedLog::Read() const {
  const UniqueFd fd(open(path().c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid() && errno == ENOENT) return EndedText();
  if (!fd.valid()) return FileError(ErrorCode::kUnavailable, "open", path(), errno);
  return Map(fd.get(), path());
}

Status EndedLog::Rewrite(const std::vector<EndedJob>& jobs, Instant since) const {
  TRY(MakeFolder(path().parent_path()));
  TRY_ASSIGN(const UniqueFd fd, OpenLocked(path(), TryToWriteAnew, kRewritePatience));
  TRY_ASSIGN(const EndedText old, Map(fd.get(), path()));
  return WriteFileByRename(path(), Merged(old.text(), jobs, since), /*durable=*/true);
}

Status RecordEnd(const JobRecords& records) {
  const fs::path jobs = records.place().parent_path();
  if (jobs.filename() != "jobs")
    return Error{ErrorCode::kNotFound,
                 StrCat("record the end of ", records.place().string(), ": not in a folder jobs")};
  TRY_ASSIGN(const auto status, records.ReadStatus());
  if (!status || !status->verdict)
    return Error{ErrorCode::kUnavailable, StrCat("record the end of ", records.job().value, ": it has no verdict")};
  return EndedLog(jobs.parent_path()).Append(EndedJobOf(*status));
}

EndedScan ForEachEnded(std::string_view text, const std::function<bool(const EndedLine&)>& visit) {
  EndedScan scan;
  SeenJobs seen;
  while (!text.empty()) {
    if (text.back() == '\n') text.remove_suffix(1);
    // As rfind(), eight times as fast.
    const void* before = memrchr(text.data(), '\n', text.size());
    const std::string_view line = before ? text.substr(static_cast<const char*>(before) - text.data() + 1) : text;
    text.remove_suffix(line.size());
    if (line.empty()) continue;
    const auto read = ReadEndedLine(line);
    if (!read) {
      ++scan.skipped;
    } else if (seen.Insert(read->job) && !visit(*read)) {
      return scan;
    }
  }
  scan.complete = true;
  return scan;
}

}  // namespace tony
