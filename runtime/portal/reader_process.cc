#include "runtime/portal/reader_process.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/os/files.h"

namespace tony {
namespace {

constexpr Duration kMemoryInterval{200};
constexpr size_t kMostHead = 8 << 10;

// Only these types pass. A script or a style comes from the portal alone.
constexpr std::string_view kTypes[] = {"text/html; charset=utf-8", "text/plain; charset=utf-8", "application/json"};
constexpr std::string_view kHeaders[] = {"location", "refresh", "x-tony-cursor"};

// Returns the resident memory of a process in bytes; 0 if it is unknown.
int64_t MemoryOf(pid_t pid) {
  const auto text = ReadFile(StrCat("/proc/", pid, "/statm"));
  const std::vector<std::string> words = text.ok() ? Split(*text, ' ') : std::vector<std::string>();
  return words.size() > 1 ? ParseInt(words[1]).value_or(0) * sysconf(_SC_PAGESIZE) : 0;
}

// Only addresses below the job's own page are followed, so that a user's process cannot lead a visitor elsewhere.
bool IsHarmless(std::string_view name, std::string_view value) {
  if (name == "location") return value.starts_with("./") && value.find("..") == std::string_view::npos;
  return true;
}

}  // namespace

Result<std::optional<HttpAnswer>> ReadAnswer(std::string_view bytes, size_t most, size_t& used) {
  const size_t head = bytes.substr(0, kMostHead).find("\r\n\r\n");
  if (head == std::string_view::npos && bytes.size() >= kMostHead) return InvalidError("its answer has no header");
  if (head == std::string_view::npos) return std::optional<HttpAnswer>();
  HttpAnswer answer;
  size_t length = 0;
  const std::vector<std::string> lines = SplitAtAny(bytes.substr(0, head), "\r\n");
  const auto status =
      lines.empty() || !lines[0].starts_with("HTTP/1.1 ") ? std::nullopt : ParseInt(lines[0].substr(9, 3));
  if (!status || *status < 200 || *status > 599) return InvalidError("its answer has no status");
  answer.status = static_cast<int>(*status);
  answer.content_type = "text/plain; charset=utf-8";
  for (const std::string& line : lines) {
    const size_t colon = std::min(line.find(':'), line.size());
    const std::string name = ToLower(line.substr(0, colon));
    const std::string value(Trim(std::string_view(line).substr(std::min(colon + 1, line.size()))));
    if (name == "content-length") length = static_cast<size_t>(std::max<int64_t>(0, ParseInt(value).value_or(-1)));
    if (name == "content-type" && std::ranges::count(kTypes, value) > 0) answer.content_type = value;
    if (std::ranges::count(kHeaders, name) > 0 && IsHarmless(name, value))
      answer.headers.emplace_back(line.substr(0, colon), value);
  }
  if (length > most) return InvalidError("its answer is longer than ", most, " bytes");
  used = head + 4 + length;
  if (bytes.size() < used) return std::optional<HttpAnswer>();
  answer.body = std::make_shared<const std::string>(bytes.substr(head + 4, length));
  return std::optional(std::move(answer));
}

void ReaderProcess::Ask(const std::string& target, Answer answer) {
  if (requests_.size() >= limits_.waiting) {
    return loop_.Post([answer = std::move(answer)] { answer(UnavailableError("too many requests wait for it")); });
  }
  requests_.push_back({target, std::move(answer)});
  if (!is_sent_) next_ = loop_.After(Duration(0), [this] { SendNext(); });
}

Status ReaderProcess::Begin() {
  if (pid_ != 0) return Ok();
  Reap();
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return UnavailableError(ErrnoText(errno));
  socket_ = UniqueFd(ends[0]);
  const UniqueFd other(ends[1]);
  TRY_ASSIGN(pid_, start_(other.get()));
  received_.clear();
  readable_ = loop_.WhenReadable(socket_.get(), [this] { OnReadable(); });
  return Ok();
}

void ReaderProcess::SendNext() {
  next_.reset();
  if (is_sent_ || requests_.empty()) return;
  if (const Status begun = Begin(); !begun.ok()) return Fail(begun.error().message);
  is_sent_ = true;
  // The socket's buffer is empty, and has room for a request.
  const std::string text = StrCat("GET ", requests_.front().target, " HTTP/1.1\r\nHost: portal\r\n\r\n");
  if (::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT) != static_cast<ssize_t>(text.size()))
    return Fail("it has ended");
  limit_ = loop_.After(limits_.answer,
                       [this] { Fail(StrCat("it did not answer within ", limits_.answer.count() / 1000, " s")); });
  Watch();
}

void ReaderProcess::Watch() {
  watch_ = loop_.After(kMemoryInterval, [this] {
    if (MemoryOf(pid_) > limits_.memory_bytes) return Fail("it took too much memory");
    if (is_sent_) Watch();
  });
}

void ReaderProcess::OnReadable() {
  std::array<char, 64 << 10> chunk;
  for (;;) {
    const ssize_t got = ::recv(socket_.get(), chunk.data(), chunk.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) break;
    if (got <= 0) return is_sent_ ? Fail("it has ended") : End();
    // An answer without a request is not read.
    if (!is_sent_) return End();
    received_.append(chunk.data(), static_cast<size_t>(got));
    if (received_.size() > limits_.answer_bytes + kMostHead) return Fail("its answer is too long");
  }
  size_t used = 0;
  Result<std::optional<HttpAnswer>> answer = ReadAnswer(received_, limits_.answer_bytes, used);
  if (!answer.ok()) return Fail(answer.error().message);
  if (!*answer) return;
  if (received_.size() > used) return Fail("it answered more than it was asked");
  received_.clear();
  Finish(**std::move(answer));
}

void ReaderProcess::Finish(Result<HttpAnswer> answer) {
  is_sent_ = false;
  watch_.reset();
  limit_ = loop_.After(limits_.idle, [this] { End(); });
  const Answer told = std::move(requests_.front().answer);
  requests_.pop_front();
  if (!requests_.empty()) next_ = loop_.After(Duration(0), [this] { SendNext(); });
  told(std::move(answer));
}

// All waiting requests fail, because the next process would probably fail as well.
void ReaderProcess::Fail(const std::string& why) {
  End();
  for (const Request& request : std::exchange(requests_, {})) request.answer(UnavailableError(why));
}

void ReaderProcess::End() {
  limit_.reset();
  watch_.reset();
  readable_.reset();
  socket_.Reset();
  is_sent_ = false;
  if (pid_ == 0) return;
  // The process leads a group, which has the programs that it runs.
  kill(-pid_, SIGKILL);
  killed_.push_back(std::exchange(pid_, 0));
  Reap();
}

// Does not wait, because a process that waits for a dead file server dies only when the server answers.
void ReaderProcess::Reap() {
  std::erase_if(killed_, [](pid_t pid) { return waitpid(pid, nullptr, WNOHANG) != 0; });
}

}  // namespace tony
