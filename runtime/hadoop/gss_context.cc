#include "runtime/hadoop/gss_context.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/hadoop/sasl.h"
#include "runtime/os/start_program.h"

namespace tony::hadoop {
namespace {

using Time = std::chrono::steady_clock::time_point;

// The exit code of a program whose shared library is missing.
constexpr int kNoLibrary = 127;

// Returns false if the socket is not ready before `end`.
bool IsReady(int socket, short events, Time end) {
  for (;;) {
    const auto left = std::chrono::ceil<Duration>(end - std::chrono::steady_clock::now());
    pollfd wanted = {socket, events, 0};
    const int ready = left.count() > 0 ? poll(&wanted, 1, static_cast<int>(left.count())) : 0;
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

bool SendAll(int socket, std::string_view bytes, Time end) {
  while (!bytes.empty()) {
    if (!IsReady(socket, POLLOUT, end)) return false;
    const ssize_t sent = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EINTR && errno != EAGAIN) return false;
    if (sent > 0) bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

bool ReceiveAll(int socket, char* to, size_t size, Time end) {
  while (size > 0) {
    if (!IsReady(socket, POLLIN, end)) return false;
    const ssize_t got = recv(socket, to, size, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) return false;
    if (got > 0) to += got, size -= static_cast<size_t>(got);
  }
  return true;
}

constexpr std::string_view kKeytab = "KRB5_CLIENT_KTNAME", kCache = "KRB5CCNAME";

// The program and its arguments. The bundle of an application master has the program's libraries.
std::vector<std::string> WordsFor(const std::string& target) {
  const std::string bundled = SiblingProgram("loader");
  if (access(bundled.c_str(), X_OK) == 0)
    return {bundled, "--library-path", SiblingProgram("lib"), SiblingProgram(StrCat("bin/", kGssProgram)), target};
  std::vector<std::string> words = {SiblingProgram(kGssProgram), target};
  // In an installation, this loader starts a dynamic program with the C library beside it, because the machine's C
  // library may be older than that of the build.
  const std::string loader = SiblingProgram(kGpuLoader);
  if (access(loader.c_str(), X_OK) == 0) words.insert(words.begin(), loader);
  return words;
}

// Returns the environment of this process, in which the keytab replaces the user's ticket and keytab, unless it is
// empty.
std::vector<std::string> EnvironmentWith(const std::string& keytab) {
  std::vector<std::string> variables = OwnEnvironment();
  if (keytab.empty()) return variables;
  std::erase_if(variables, [](const std::string& variable) {
    const std::string name = variable.substr(0, variable.find('='));
    return name == kKeytab || name == kCache;
  });
  variables.push_back(StrCat(kKeytab, "=FILE:", keytab));
  variables.push_back(StrCat(kCache, "=MEMORY:"));
  return variables;
}

}  // namespace

Status CheckKeytabFile(std::string_view from, std::string_view file) {
  constexpr std::string_view kFile = "FILE:";
  if (file.starts_with(kFile)) file.remove_prefix(kFile.size());
  struct stat status {};
  if (stat(std::string(file).c_str(), &status) != 0 || (status.st_mode & (S_IRWXG | S_IRWXO)) == 0) return Ok();
  return NotPermittedError(from, ": other users have access to ", file, "; run chmod 600 ", file);
}

Result<std::unique_ptr<GssContext>> GssContext::Start(const std::string& target, Duration limit,
                                                      const std::string& keytab) {
  const char* usual = std::getenv(std::string(kKeytab).c_str());
  if (keytab.empty() && usual != nullptr) TRY(CheckKeytabFile(kKeytab, usual));
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return UnavailableError(kGssProgram, ": ", ErrnoText(errno));
  UniqueFd own(ends[0]);
  const UniqueFd other(ends[1]);
  const std::vector<std::string> words = WordsFor(target);
  std::vector<std::string> variables = EnvironmentWith(keytab);
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  const auto pid = StartProgram(words, environment.data(), {.input = other.get(), .output = other.get()});
  if (!pid.ok()) return UnavailableError(words[0], ": ", pid.error().message);
  return std::unique_ptr<GssContext>(new GssContext(std::move(own), *pid, limit));
}

GssContext::~GssContext() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

// Returns why no answer came: the program has closed its socket, so it ends, or Kerberos takes too long.
Error GssContext::NoAnswer(bool is_late) {
  if (is_late)
    return UnavailableError("Kerberos: no answer within ", limit_.count(), " ms; a KDC may be down (see krb5.conf)");
  int status = 0;
  waitpid(std::exchange(pid_, -1), &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoLibrary)
    return NotPermittedError(kGssProgram, " cannot load the Kerberos library libgssapi_krb5.so.2: install the package",
                             " libgssapi-krb5-2 (Debian, Ubuntu) or krb5-libs (Red Hat)");
  return UnavailableError(kGssProgram, " has ended with status ", status);
}

Result<GssContext::Answer> GssContext::Ask(char letter, std::string_view bytes) {
  if (pid_ < 0) return UnavailableError(kGssProgram, " has ended");
  if (bytes.size() >= kLongestGssMessage) return InvalidError(kGssProgram, ": a message is too long");
  const Time end = std::chrono::steady_clock::now() + limit_;
  unsigned char head[4];
  if (!SendAll(socket_.get(), GssMessage(letter, bytes), end) ||
      !ReceiveAll(socket_.get(), reinterpret_cast<char*>(head), sizeof head, end))
    return NoAnswer(std::chrono::steady_clock::now() >= end);
  const uint32_t length = uint32_t{head[0]} << 24 | uint32_t{head[1]} << 16 | uint32_t{head[2]} << 8 | head[3];
  if (length == 0 || length > kLongestGssMessage) return InvalidError(kGssProgram, ": the answer is malformed");
  std::string message(length, '\0');
  if (!ReceiveAll(socket_.get(), message.data(), message.size(), end))
    return NoAnswer(std::chrono::steady_clock::now() >= end);
  Answer answer{message[0], message.substr(1)};
  if (answer.letter == 'x') return NotPermittedError(answer.bytes);
  if (answer.letter == 'r') return UnavailableError(answer.bytes);
  return answer;
}

Result<GssContext::Step> GssContext::Next(std::string_view token) {
  TRY_ASSIGN(Answer answer, Ask('t', token));
  return Step{std::move(answer.bytes), answer.letter == 'd'};
}

Result<std::string> GssContext::AskForBytes(char letter, std::string_view bytes) {
  TRY_ASSIGN(Answer answer, Ask(letter, bytes));
  return std::move(answer.bytes);
}

Result<std::string> GssContext::Wrap(std::string_view bytes, bool encrypts) {
  return AskForBytes(encrypts ? 'e' : 'w', bytes);
}

Result<std::string> GssContext::Unwrap(std::string_view bytes) { return AskForBytes('u', bytes); }

Result<GssContext::User> GssContext::WhoAmI() {
  TRY_ASSIGN(const std::string text, AskForBytes('i', ""));
  const size_t blank = text.rfind(' ');
  const auto seconds = blank == std::string::npos ? std::nullopt : ParseInt(text.substr(blank + 1));
  if (!seconds) return InvalidError(kGssProgram, ": the answer is malformed");
  return User{text.substr(0, blank), std::chrono::seconds(*seconds)};
}

Result<std::string> NegotiateHeader(const std::string& host, Duration limit) {
  TRY_ASSIGN(const auto context, GssContext::Start(StrCat("HTTP@", host), limit));
  TRY_ASSIGN(const GssContext::Step step, context->Next(""));
  return StrCat("Negotiate ", Base64(step.token));
}

}  // namespace tony::hadoop
