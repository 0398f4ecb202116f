#include "executor/log_answers.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <system_error>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/logs/log_holes.h"
#include "runtime/os/files.h"
#include "runtime/records/attempt_folder.h"

namespace tony::executor {
namespace {

namespace fs = std::filesystem;

constexpr Duration kBetweenLogLooks{100};
constexpr size_t kMostWaiting =
    16;  // above what a master has open; one more: the oldest is answered with what there is
constexpr size_t kMostParts = 64;
constexpr size_t kMostAttempts = 1024;

std::string BytesAt(int fd, int64_t begin, int64_t end) {
  std::string bytes(static_cast<size_t>(end - begin), '\0');
  const ssize_t got = pread(fd, bytes.data(), bytes.size(), begin);
  bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return bytes;
}

// A secret may begin before the text, and end after it. Returns how many bytes at the end of the text may be the
// beginning of one that is not written yet.
size_t MaskText(int fd, int64_t begin, const SecretMask& mask, std::string& text) {
  if (mask.longest() == 0) return 0;
  const auto most = static_cast<int64_t>(mask.longest());
  const int64_t end = begin + static_cast<int64_t>(text.size());
  const std::string before = BytesAt(fd, std::max<int64_t>(0, begin - most), begin);
  const std::string after = BytesAt(fd, end, end + most);
  std::string all = before + text + after;
  const size_t open = mask.OpenEnd(all);
  mask.MaskInPlace(all);
  text = all.substr(before.size(), text.size());
  return std::min(text.size(), open - std::min(open, after.size()));
}

// Up to `most` bytes from the offset on, none of them behind a further hole. `ended`: no more will be written.
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

// One that is not there may come.
bool IsNews(const LogWant& want, const LogNews& news) {
  return want.offset < 0 || news.ended || news.cut > 0 || !news.text.empty();
}

int64_t BytesLeft(int64_t most, const std::vector<LogNews>& news) {
  for (const LogNews& one : news) most -= static_cast<int64_t>(one.text.size());
  return most;
}

}  // namespace

void LogAnswers::Take(const std::vector<LogAsk>& asks) {
  for (const LogAsk& ask : asks) {
    waiting_.push_back({ask, loop_.Now() + ask.wait});
    if (waiting_.size() <= kMostWaiting) continue;
    waiting_.front().until = loop_.Now();
  }
  Look();
}

void LogAnswers::Look() {
  std::erase_if(waiting_, [this](const Waiting& waiting) { return Answer(waiting); });
  if (!waiting_.empty() && !timer_) LookLater();
}

void LogAnswers::LookLater() {
  timer_ = loop_.After(kBetweenLogLooks, [this] {
    timer_ = nullptr;
    Look();
  });
}

void LogAnswers::Forget() {
  waiting_.clear();
  timer_ = nullptr;
}

bool LogAnswers::Answer(const Waiting& waiting) {
  const LogAsk& ask = waiting.ask;
  std::vector<LogNews> news;
  bool is_news = loop_.Now() >= waiting.until;
  for (const LogWant& want : ask.wants) {
    news.push_back(Read(want, BytesLeft(ask.most, news)));
    is_news = is_news || IsNews(want, news.back());
  }
  if (is_news) send_(ask.id, news);
  return is_news;
}

// The outcome is the last that is written of an attempt.
LogNews LogAnswers::Read(const LogWant& want, int64_t most) const {
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

std::vector<int> LogAnswers::AttemptsThere() const {
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
    const std::string name = OfProcess(stream, process);
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
