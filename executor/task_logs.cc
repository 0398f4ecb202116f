#include "executor/task_logs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <system_error>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/logs/local_log_source.h"
#include "runtime/logs/log_reader.h"
#include "runtime/os/files.h"
#include "runtime/records/attempt_folder.h"

namespace tony::executor {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLines = 20;
constexpr size_t kMostBytes = 4096;
constexpr off_t kReadBytes = 1 << 20;  // bytes read from the end

// Returns the length of the terminal's control sequence (colours, cursor) that `text` begins with, otherwise 0.
size_t ControlSequenceLength(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const size_t last = text.find_first_not_of("0123456789;:<=>?", 2);
  return last == std::string_view::npos ? text.size() : last + 1;
}

// Returns the length of the control character that `text` begins with; 0 if it begins with a tab or another character.
size_t ControlLength(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const auto second = text.size() > 1 ? static_cast<unsigned char>(text[1]) : 0;
  if (first == 0xC2 && second < 0xA0) return 2;  // a C1 control character
  return (first < 0x20 && first != '\t') || first == 0x7F ? 1 : 0;
}

// Returns a line as a terminal would show it: for a progress bar, only the last state.
std::string Printable(std::string_view line) {
  while (line.ends_with('\r')) line.remove_suffix(1);
  // Without a "\r", npos + 1 is 0, and the whole line stays.
  line.remove_prefix(line.rfind('\r') + 1);
  const std::string valid = ReplaceInvalidUtf8(line);
  std::string text;
  for (std::string_view rest = valid; !rest.empty();) {
    const size_t hidden = std::max(ControlSequenceLength(rest), ControlLength(rest));
    if (hidden == 0) text += rest[0];
    rest.remove_prefix(std::max<size_t>(hidden, 1));
  }
  return text;
}

std::string ReadEnd(const std::filesystem::path& file) {
  // A task may have replaced its log by a link or a pipe. Text of other files must not get into the task's outcome.
  const auto log = OpenRegularFile(file, O_RDONLY);
  if (!log.ok()) return "";
  const off_t from = std::max<off_t>(0, log->size - kReadBytes);
  std::string text(static_cast<size_t>(log->size - from), '\0');
  const ssize_t got = pread(log->fd.get(), text.data(), text.size(), from);
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return text;
}

std::string LastLines(std::string_view text, int most_lines, size_t most_bytes) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  std::string tail;
  for (int lines = 0; lines < most_lines && !text.empty() && tail.size() < most_bytes; ++lines) {
    const size_t line_end = text.rfind('\n');
    const size_t begin = line_end == std::string_view::npos ? 0 : line_end + 1;
    tail.insert(0, Printable(text.substr(begin)) + "\n");
    text.remove_suffix(text.size() - (begin == 0 ? 0 : line_end));
  }
  if (tail.size() <= most_bytes) return tail;
  tail.erase(0, tail.size() - most_bytes);
  const auto is_continuation = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
  return tail.substr(static_cast<size_t>(std::ranges::find_if_not(tail, is_continuation) - tail.begin()));
}

}  // namespace

std::string LastLines(std::string_view text) { return LastLines(text, kMostLines, kMostBytes); }

LogTail LogTailOf(std::string_view text) {
  LogTail words{.lines = LastLines(text)};
  while (text.ends_with('\n')) text.remove_suffix(1);
  if (text.empty()) return words;
  for (const std::string& line : Split(text, '\n')) words.text += Printable(line) + "\n";
  return words;
}

LogTail ReadLogTail(const std::filesystem::path& file, const SecretMask& mask) {
  return LogTailOf(mask.Masked(ReadEnd(file)));
}

LogGrowthNotes::LogGrowthNotes(std::filesystem::path log)
    : log_(std::move(log)), notes_(log_.parent_path() / TimesOf(log_.filename().string())) {}

void LogGrowthNotes::Look(Instant now) {
  struct stat info {};
  if (lstat(log_.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == size_) return;
  if (info.st_size < size_) {
    LogWarn(StrCat(log_.filename().string(), " had ", size_,
                   " bytes and was emptied by the task, e.g. by \"> /dev/stdout\"; ",
                   "to keep the earlier output, use \">> /dev/stdout\" or no redirection"));
  }
  size_ = info.st_size;
  Append(LineOf({now, static_cast<uint64_t>(size_)}));
  if (++count_ >= kMostLogNotes) ThinOut();
}

// The folder belongs to the task. If the task has put something else in place of the notes, nothing is written there.
void LogGrowthNotes::Append(const std::string& line) {
  const int flags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | (count_ == 0 ? O_CREAT | O_EXCL : 0);
  const UniqueFd fd(open(notes_.c_str(), flags, 0600));
  struct stat info {};
  if (!fd.valid() || fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return;
  const Status written = WriteAll(fd.get(), line, notes_);
  if (!written.ok()) LogDebug(written.error().message);
}

void LogGrowthNotes::ThinOut() {
  const auto text = ReadFile(notes_);
  if (!text.ok()) return;
  std::string thinned;
  const auto kept = ThinnedOut(LogNotesIn(*text));
  for (const LogNote& note : kept) thinned += LineOf(note);
  const Status written = WriteFileByRename(notes_, thinned, /*durable=*/false);
  if (!written.ok()) return LogDebug(written.error().message);
  count_ = kept.size();
}

namespace {

// Bytes are freed in steps of this size, which is at least as large as the blocks of every file system. If a block were
// freed only in part, its freed bytes would read as NULs and not as a hole.
constexpr int64_t kStep = 1 << 20;
constexpr int64_t kStatBlock = 512;  // unit of st_blocks, always

UniqueFd OpenLogFile(const std::filesystem::path& file) {
  // A task may have replaced its log by a link to a file that it wants to keep, so links are not followed.
  auto opened = OpenRegularFile(file, O_WRONLY);
  return opened.ok() ? std::move(opened->fd) : UniqueFd();
}

}  // namespace

LogSizeLimit::LogSizeLimit(const std::filesystem::path& file, int64_t limit_bytes)
    : LogSizeLimit(OpenLogFile(file), limit_bytes) {}

LogSizeLimit::LogSizeLimit(UniqueFd file, int64_t limit_bytes) : file_(std::move(file)), limit_bytes_(limit_bytes) {
  struct stat info {};
  if (file_.valid() && (fstat(file_.get(), &info) != 0 || !S_ISREG(info.st_mode))) file_.Reset();
}

Result<int64_t> LogSizeLimit::Check() {
  struct stat info {};
  if (!file_.valid() || fstat(file_.get(), &info) != 0) return int64_t{0};
  growth_ = std::max<int64_t>(0, info.st_size - size_);
  size_ = info.st_size;
  // The task may have emptied the file, which moves the file's end before the freed range.
  freed_to_ = std::min(freed_to_, size_);
  // The limit applies to the space on disk, not to the length, because a program may write a log with holes of its own.
  const int64_t room = info.st_blocks * kStatBlock;
  const int64_t end = (size_ - limit_bytes_) / kStep * kStep;
  if (room <= kHeadBytes + limit_bytes_ + kStep || end <= std::max(kHeadBytes, freed_to_)) return int64_t{0};
  if (fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, kHeadBytes, end - kHeadBytes) != 0) {
    // The next check tries again after these errors, e.g. because a full disk may later have room to record the freed
    // range.
    if (errno == EINTR || errno == ENOSPC || errno == EDQUOT) return int64_t{0};
    const int error = errno;
    file_.Reset();
    return UnavailableError("this file system cannot free a part of a file: ", ErrnoText(error));
  }
  freed_to_ = end;
  fstat(file_.get(), &info);
  return std::max<int64_t>(0, room - info.st_blocks * kStatBlock);
}

Duration UntilNextCheck(int64_t limit_bytes, int64_t growth, Duration since) {
  constexpr int64_t kMostGrowth = 64 << 20;
  constexpr int64_t kBytesEachMs = 1 << 20;
  const Duration quiet(std::clamp<int64_t>(limit_bytes / kBytesEachMs, 100, 1000));
  if (growth <= 0) return quiet;
  const double wanted = static_cast<double>(std::min(limit_bytes / 4, kMostGrowth));
  const double wait = wanted / static_cast<double>(growth) * static_cast<double>(since.count());
  return std::clamp(Duration(static_cast<int64_t>(std::min(wait, 1000.0))), Duration(10), quiet);
}

namespace {

constexpr Duration kBetweenLogLooks{100};
// The largest number of waiting requests, which is more than an AM has open at a time. When one more request arrives,
// the oldest is answered at once with the text that exists.
constexpr size_t kMostWaiting = 16;
constexpr size_t kMostParts = 64;
constexpr size_t kMostAttempts = 1024;

std::string BytesAt(int fd, int64_t begin, int64_t end) {
  std::string bytes(static_cast<size_t>(end - begin), '\0');
  const ssize_t got = pread(fd, bytes.data(), bytes.size(), begin);
  bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return bytes;
}

// Masks secrets in `text`, which was read from `begin` on. Secrets that begin before the text or end after it are
// masked, too. Returns how many bytes at the end of the text may be the beginning of a secret that is not written
// completely yet.
size_t MaskText(int fd, int64_t begin, const SecretMask& mask, std::string& text) {
  if (mask.longest() == 0) return 0;
  const auto most = static_cast<int64_t>(mask.longest());
  const int64_t end = begin + static_cast<int64_t>(text.size());
  const std::string before = BytesAt(fd, std::max<int64_t>(0, begin - most), begin);
  const std::string after = BytesAt(fd, end, end + most);
  std::string all = before + text + after;
  const size_t open = mask.UnfinishedSecretAtEnd(all);
  mask.MaskInPlace(all);
  text = all.substr(before.size(), text.size());
  return std::min(text.size(), open - std::min(open, after.size()));
}

// Returns up to `most` bytes from `offset` on. A hole at `offset` is skipped, and the text ends before the next hole.
// `ended`: nothing more will be written.
LogNews ReadText(int fd, int64_t offset, int64_t most, const SecretMask& mask, bool ended) {
  LogNews news{.is_there = true};
  news.text.resize(static_cast<size_t>(most));
  size_t filled = 0;
  while (filled < news.text.size()) {
    const int64_t at = offset + news.cut + static_cast<int64_t>(filled);
    const LogBytes got = ReadLog(fd, at, {news.text.data() + filled, news.text.size() - filled});
    if (got.cut > 0 && filled > 0) break;
    news.cut += got.cut;
    if (got.size == 0) break;
    filled += got.size;
  }
  news.text.resize(filled);
  const size_t open = MaskText(fd, offset + news.cut, mask, news.text);
  if (!ended) news.text.resize(filled - open);
  return news;
}

std::vector<LogSpan> LastParts(int fd) {
  std::vector<LogSpan> spans;
  for (const LogPart& part : PartsOfLog(fd))
    spans.push_back({static_cast<int64_t>(part.begin), static_cast<int64_t>(part.end)});
  if (spans.size() > kMostParts) spans.erase(spans.begin(), spans.end() - kMostParts);
  return spans;
}

void AddParts(int fd, int64_t begin, int64_t end, const SecretMask& mask, LogExcerpt& excerpt) {
  while (begin < end && excerpt.parts.size() < kMostParts) {
    LogNews got = ReadText(fd, begin, end - begin, mask, /*ended=*/true);
    begin += got.cut;
    if (got.text.empty() || begin >= end) return;
    got.text.resize(std::min(got.text.size(), static_cast<size_t>(end - begin)));
    excerpt.parts.push_back({begin, std::move(got.text)});
    begin += static_cast<int64_t>(excerpt.parts.back().text.size());
  }
}

// A missing log counts as unchanged, because it may appear later.
bool IsNews(const LogWant& want, const LogNews& news) {
  return want.offset < 0 || news.ended || news.cut > 0 || !news.text.empty();
}

}  // namespace

void PendingLogRequests::Take(const std::vector<LogAsk>& asks) {
  for (const LogAsk& ask : asks) {
    waiting_.push_back({ask, loop_.Now() + ask.wait});
    if (waiting_.size() <= kMostWaiting) continue;
    waiting_.front().until = loop_.Now();
  }
  Look();
}

void PendingLogRequests::Look() {
  std::erase_if(waiting_, [this](const Waiting& waiting) { return Answer(waiting); });
  if (!waiting_.empty() && !timer_) LookLater();
}

void PendingLogRequests::LookLater() {
  timer_ = loop_.After(kBetweenLogLooks, [this] {
    timer_ = nullptr;
    Look();
  });
}

void PendingLogRequests::Forget() {
  waiting_.clear();
  timer_ = nullptr;
}

bool PendingLogRequests::Answer(const Waiting& waiting) {
  const LogAsk& ask = waiting.ask;
  std::vector<LogNews> news;
  int64_t left = ask.most;
  bool is_news = loop_.Now() >= waiting.until;
  for (const LogWant& want : ask.wants) {
    news.push_back(Read(want, left));
    left -= static_cast<int64_t>(news.back().text.size());
    is_news = is_news || IsNews(want, news.back());
  }
  if (is_news) send_(ask.id, news);
  return is_news;
}

// Checks for the outcome before reading the log. The outcome is the last file that is written for an attempt, so the
// log is complete if the outcome exists.
LogNews PendingLogRequests::Read(const LogWant& want, int64_t most) const {
  LogNews none;
  const bool is_look = want.offset < 0;
  if (is_look && want.attempt.task == logs_.task) none.attempts = AttemptsThere();
  if (want.attempt.task != logs_.task || std::ranges::find(logs_.names, want.stream) == logs_.names.end()) return none;
  const AttemptFolder folder(logs_.job_folder, want.attempt);
  const bool ended = IsThere(folder.logs / "outcome.json");
  const auto log = OpenRegularFile(folder.logs / want.stream, O_RDONLY);
  none.ended = ended;
  if (!log.ok()) return none;
  const int64_t room = std::min(most, log->size - want.offset);
  LogNews news =
      is_look || room <= 0 ? LogNews{.is_there = true} : ReadText(log->fd.get(), want.offset, room, logs_.mask, ended);
  news.size = log->size;
  news.ended = ended;
  struct stat info {};
  if (!is_look || fstat(log->fd.get(), &info) != 0) return news;
  news.changed =
      FromMillis(std::max<int64_t>(0, int64_t{info.st_mtim.tv_sec} * 1000 + info.st_mtim.tv_nsec / 1'000'000));
  news.parts = LastParts(log->fd.get());
  news.attempts = std::move(none.attempts);
  return news;
}

std::vector<int> PendingLogRequests::AttemptsThere() const {
  std::vector<int> numbers;
  std::error_code error;
  const fs::path folder = AttemptFolder(logs_.job_folder, {logs_.task, 1}).logs.parent_path();
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const auto number = ParseInt(entry->path().filename().string());
    if (number && *number > 0 && *number <= std::numeric_limits<int>::max())
      numbers.push_back(static_cast<int>(*number));
  }
  std::ranges::sort(numbers);
  if (numbers.size() > kMostAttempts) numbers.erase(numbers.begin(), numbers.end() - kMostAttempts);
  return numbers;
}

std::vector<LogExcerpt> ExcerptsOf(const fs::path& log_folder, int process, const SecretMask& mask) {
  std::vector<LogExcerpt> excerpts;
  for (const char* stream : {"stdout", "stderr"}) {
    const std::string name = NameForProcess(stream, process);
    const auto log = OpenRegularFile(log_folder / name, O_RDONLY);
    if (!log.ok()) continue;
    LogExcerpt& excerpt = excerpts.emplace_back(LogExcerpt{.stream = name, .size = log->size});
    const int64_t head = log->size <= kExcerptHead + kExcerptTail ? log->size : kExcerptHead;
    AddParts(log->fd.get(), 0, head, mask, excerpt);
    if (head < log->size) AddParts(log->fd.get(), log->size - kExcerptTail, log->size, mask, excerpt);
  }
  return excerpts;
}

}  // namespace tony::executor
