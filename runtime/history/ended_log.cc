#include "runtime/history/ended_log.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/history/jhist.h"
#include "runtime/os/files.h"

namespace tony {
namespace {

constexpr std::string_view kVersion = "1";
constexpr size_t kFields = 14;  // includes the version, not the checksum
constexpr size_t kMostCause = 200;
constexpr size_t kChecksum = 9;  // eight digits and the tab before
constexpr char kDigits[] = "0123456789abcdef";

using Fields = std::array<std::string_view, kFields>;

void AppendHex(std::string& out, uint32_t number, int digits) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) out.push_back(kDigits[(number >> shift) & 0xF]);
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Returns the text cut to kMostCause bytes, never within a character.
std::string Shortened(const std::string& text) {
  const std::string start = text.substr(0, kMostCause);
  return IsUtf8(text) ? start.substr(0, ValidUtf8Prefix(start)) : start;
}

std::optional<Fields> SplitFields(std::string_view text) {
  Fields fields;
  for (size_t i = 0; i < kFields; ++i) {
    const size_t tab = text.find('\t');
    if ((tab == std::string_view::npos) != (i + 1 == kFields)) return std::nullopt;
    fields[i] = text.substr(0, tab);
    text.remove_prefix(i + 1 == kFields ? text.size() : tab + 1);
  }
  return fields;
}

// Reads numbers in order. ok() becomes false at the first text that is not a number.
class Numbers {
 public:
  int64_t Read(std::string_view text) {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    ok_ = ok_ && error == std::errc() && end == text.data() + text.size();
    return number;
  }
  bool ok() const { return ok_; }

 private:
  bool ok_ = true;
};

// Compares lines with a filter. The filter's texts are escaped once, so lines can be compared without unescaping them.
class Matcher {
 public:
  explicit Matcher(const EndedFilter& filter) : filter_(filter) {
    if (filter.user) user_ = EscapeField(*filter.user);
    if (filter.request) request_ = EscapeField(*filter.request);
    if (filter.name && filter.name->find_first_of("*?[\\") == std::string::npos) name_ = EscapeField(*filter.name);
  }

  bool Matches(const EndedLine& line) const {
    if (filter_.state && line.state != *filter_.state) return false;
    if (filter_.cls && line.cls != *filter_.cls) return false;
    if (filter_.since && line.ended < *filter_.since) return false;
    if (filter_.until && line.ended > *filter_.until) return false;
    if (user_ && line.user != *user_) return false;
    if (request_ && line.request != *request_) return false;
    if (name_) return line.name == *name_;
    return !filter_.name || fnmatch(filter_.name->c_str(), UnescapeField(line.name).c_str(), 0) == 0;
  }

 private:
  const EndedFilter& filter_;
  std::optional<std::string> user_, request_;
  // The escaped name, if the pattern contains no wildcard.
  std::optional<std::string> name_;
};

namespace fs = std::filesystem;

// The time that an append waits for the lock. Rewriting a log of 100,000 jobs takes only a few tenths of a second, so
// this time is long enough. It is also short, because a process that was stopped while it rewrites the log must not
// block an append for long.
constexpr std::chrono::milliseconds kAppendPatience{2000};
constexpr std::chrono::milliseconds kRewritePatience{10'000};
constexpr std::chrono::microseconds kBetweenTries{200};

// Returns whether `fd` is still the file at `path`. The file may be replaced while a process waits for the lock on it.
bool IsUnchanged(int fd, const fs::path& path) {
  struct stat ours {
  }, named{};
  return fstat(fd, &ours) == 0 && stat(path.c_str(), &named) == 0 && ours.st_ino == named.st_ino &&
         ours.st_dev == named.st_dev;
}

// Two bytes of the file serve as locks; the content of these bytes does not matter. Processes that append share the
// lock on kWork. A process that rewrites the file locks kTurn first, and then locks kWork alone. An appending process
// does not start while kTurn is locked. Without kTurn, a steady stream of appends would keep the lock on kWork shared
// forever.
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

bool TryToAppend(int fd) {
  struct flock turn = LockOf(kTurn, F_WRLCK);
  const bool somebody_has_turn = fcntl(fd, F_OFD_GETLK, &turn) == 0 && turn.l_type != F_UNLCK;
  return !somebody_has_turn && TryLock(fd, kWork, F_RDLCK);
}
bool TryToWriteAnew(int fd) { return TryLock(fd, kTurn, F_WRLCK) && TryLock(fd, kWork, F_WRLCK); }

// Opens or creates the log, and locks it with `try_lock`, which may be called repeatedly on the same descriptor.
Result<UniqueFd> OpenLocked(const fs::path& path, bool (*try_lock)(int), std::chrono::milliseconds patience) {
  const auto give_up = std::chrono::steady_clock::now() + patience;
  for (;;) {
    UniqueFd fd(open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
    if (!fd.valid()) return FileError(ErrorCode::kCannotWrite, "open", path, errno);
    while (IsUnchanged(fd.get(), path)) {
      if (try_lock(fd.get()) && IsUnchanged(fd.get(), path)) return fd;
      if (std::chrono::steady_clock::now() >= give_up)
        return Error{ErrorCode::kUnavailable,
                     StrCat("cannot lock ", path.string(), ": another process holds the lock")};
      std::this_thread::sleep_for(kBetweenTries);
    }
  }
}

// Returns whether the file ends within a line, because an earlier write was cut short.
bool EndsWithinLine(int fd) {
  struct stat info {};
  char last = '\n';
  return fstat(fd, &info) == 0 && info.st_size > 0 && pread(fd, &last, 1, info.st_size - 1) == 1 && last != '\n';
}

Result<EndedText> Map(int fd, const fs::path& path) {
  struct stat info {};
  if (fstat(fd, &info) != 0) return FileError(ErrorCode::kUnavailable, "read the size of", path, errno);
  if (info.st_size == 0) return EndedText();
  void* begin = mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
  if (begin == MAP_FAILED) return FileError(ErrorCode::kUnavailable, "map", path, errno);
  return EndedText(static_cast<const char*>(begin), static_cast<size_t>(info.st_size));
}

// Returns the undamaged lines that other versions have written. These lines are kept, because this version cannot read
// them.
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

EndedJob EndedJobOf(const JobStatus& status) {
  CHECK(status.verdict.has_value());
  const bool is_plain_success = status.verdict->state == FinalState::kSucceeded && status.tolerated_failures == 0;
  return {.job = status.job,
          .name = status.name,
          .user = status.user,
          .framework = status.framework,
          .state = status.verdict->state,
          .cls = status.verdict->cls,
          .request = status.request,
          .number = status.number,
          .submitted = status.submitted,
          .ended = status.ended.value_or(status.submitted),
          .tasks = static_cast<int64_t>(status.tasks.size()),
          .restarts = status.restart_count,
          .cause = is_plain_success ? "" : Shortened(status.verdict->message)};
}

std::string EscapeField(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F || c == '\\') {
      out.push_back('\\');
      AppendHex(out, static_cast<unsigned char>(c), 2);
    } else {
      out.push_back(c);
    }
  }
  return out;
}

std::string UnescapeField(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '\\' && i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
    const int low = high < 0 ? -1 : HexDigit(text[i + 2]);
    if (low < 0) {
      out.push_back(text[i]);
    } else {
      out.push_back(static_cast<char>(high * 16 + low));
      i += 2;
    }
  }
  return out;
}

std::string ToLine(const EndedJob& job) {
  std::string line =
      StrCat(kVersion, '\t', EscapeField(job.job.value), '\t', EscapeField(job.name), '\t', EscapeField(job.user), '\t',
             EscapeField(job.framework), '\t', ToString(job.state), '\t', ToString(job.cls), '\t',
             EscapeField(job.request.value), '\t', job.number, '\t', ToMillis(job.submitted), '\t', ToMillis(job.ended),
             '\t', job.tasks, '\t', job.restarts, '\t', EscapeField(job.cause));
  const uint32_t checksum = Crc32(line);
  line.push_back('\t');
  AppendHex(line, checksum, 8);
  line.push_back('\n');
  return line;
}

bool IsWholeLine(std::string_view line) {
  if (line.size() < kChecksum || line[line.size() - kChecksum] != '\t') return false;
  uint32_t told = 0;
  for (const char c : line.substr(line.size() - kChecksum + 1)) {
    const int digit = HexDigit(c);
    if (digit < 0) return false;
    told = told << 4 | static_cast<uint32_t>(digit);
  }
  return Crc32(line.substr(0, line.size() - kChecksum)) == told;
}

std::optional<EndedLine> ReadEndedLine(std::string_view line) {
  if (!IsWholeLine(line)) return std::nullopt;
  const auto fields = SplitFields(line.substr(0, line.size() - kChecksum));
  if (!fields || (*fields)[0] != kVersion) return std::nullopt;
  const auto& f = *fields;
  const auto state = FromName<FinalState>(f[5]);
  const auto cls = FromName<OutcomeClass>(f[6]);
  Numbers numbers;
  EndedLine read{.job = f[1], .name = f[2], .user = f[3], .framework = f[4], .request = f[7], .cause = f[13]};
  read.number = numbers.Read(f[8]);
  read.submitted = FromMillis(numbers.Read(f[9]));
  read.ended = FromMillis(numbers.Read(f[10]));
  read.tasks = numbers.Read(f[11]);
  read.restarts = numbers.Read(f[12]);
  if (!state || !cls || !numbers.ok()) return std::nullopt;
  read.state = *state;
  read.cls = *cls;
  return read;
}

EndedJob ToEndedJob(const EndedLine& line) {
  return {.job = {UnescapeField(line.job)},
          .name = UnescapeField(line.name),
          .user = UnescapeField(line.user),
          .framework = UnescapeField(line.framework),
          .state = line.state,
          .cls = line.cls,
          .request = {UnescapeField(line.request)},
          .number = line.number,
          .submitted = line.submitted,
          .ended = line.ended,
          .tasks = line.tasks,
          .restarts = line.restarts,
          .cause = UnescapeField(line.cause)};
}

EndedFound FindEnded(std::string_view log, const EndedFilter& filter, size_t limit) {
  const Matcher matcher(filter);
  EndedFound found;
  const EndedScan scan = ForEachEnded(log, [&](const EndedLine& line) {
    if (!matcher.Matches(line)) return true;
    if (found.jobs.size() == limit) return false;
    found.jobs.push_back(ToEndedJob(line));
    return true;
  });
  found.skipped = scan.skipped;
  found.complete = scan.complete;
  return found;
}

EndedStats StatsOfEnded(std::string_view log, const EndedFilter& filter) {
  const Matcher matcher(filter);
  EndedStats stats;
  std::map<FinalState, int64_t> states;
  std::map<OutcomeClass, int64_t> classes;
  Duration total{0};
  const EndedScan scan = ForEachEnded(log, [&](const EndedLine& line) {
    if (!matcher.Matches(line)) return true;
    ++stats.jobs;
    stats.tasks += line.tasks;
    stats.restarts += line.restarts;
    ++states[line.state];
    ++classes[line.cls];
    const Duration length = line.ended - line.submitted;
    total += length;
    if (stats.longest_job.empty() || length > stats.longest) {
      stats.longest = length;
      stats.longest_job = UnescapeField(line.job);
    }
    return true;
  });
  for (const auto& [state, count] : states) stats.by_state.emplace(ToString(state), count);
  for (const auto& [cls, count] : classes) stats.by_class.emplace(ToString(cls), count);
  if (stats.jobs > 0) stats.mean = total / stats.jobs;
  stats.skipped = scan.skipped;
  return stats;
}

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
  // After a short write, the rest of the line is not written, because another process may have appended a line
  // meanwhile.
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
                 StrCat("cannot record the end of the job in ", records.place().string(),
                        ": this folder does not lie in a folder named jobs")};
  TRY_ASSIGN(const auto status, records.ReadStatus());
  if (!status || !status->verdict)
    return Error{ErrorCode::kUnavailable,
                 StrCat("cannot record the end of job ", records.job().value, ": the job has no verdict")};
  return EndedLog(jobs.parent_path()).Append(EndedJobOf(*status));
}

EndedScan ForEachEnded(std::string_view text, const std::function<bool(const EndedLine&)>& visit) {
  EndedScan scan;
  SeenJobs seen;
  while (!text.empty()) {
    if (text.back() == '\n') text.remove_suffix(1);
    // memrchr() is eight times as fast as rfind().
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
