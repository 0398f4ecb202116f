#include "runtime/cli/output.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/strings.h"
#include "runtime/cli/terminal.h"
#include "runtime/cli/text_table.h"

namespace tony {
namespace {

// The errno of the first failed write to standard output; 0 if all succeeded.
int lost = 0;

void WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    // The descriptor may be non-blocking, because another process that shares it can set this.
    if (written < 0 && errno == EAGAIN) {
      pollfd wait = {fd, POLLOUT, 0};
      poll(&wait, 1, -1);
      continue;
    }
    if (written < 0 && fd == STDOUT_FILENO && errno != EPIPE && lost == 0) lost = errno;
    if (written <= 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace

void ReserveOutputs() {
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    const int unwritable = open("/dev/null", O_RDONLY);
    if (unwritable == fd || unwritable < 0) continue;
    dup2(unwritable, fd);
    close(unwritable);
  }
}

void Print(std::string_view text) { WriteAll(STDOUT_FILENO, Fitted(std::string(text), {ColumnsOfStandardOutput()})); }

void PrintAsIs(std::string_view text, int fd) { WriteAll(fd, text); }

void PrintLine(std::string_view text) {
  const std::string line = StrCat(text, '\n');
  WriteAll(STDOUT_FILENO, isatty(STDOUT_FILENO) == 1 ? SafeText(line) : line);
}

void Say(std::string_view line) { WriteAll(STDERR_FILENO, StrCat(SafeLine(Trim(line)), '\n')); }

int ExitAfterOutput(int exit) {
  if (lost == 0) return exit;
  Say(StrCat("tony: cannot write to standard output: ", ErrnoText(lost)));
  return exit == 0 ? static_cast<int>(ErrorCode::kCannotWrite) : exit;
}

std::string IndentedJson(std::string_view object) {
  std::string out;
  size_t depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < object.size(); ++i) {
    const char c = object[i];
    if (in_string && c == '\\') {
      out.append(object.substr(i++, 2));
      continue;
    }
    if (c == '"') in_string = !in_string;
    const bool empty = !in_string && (c == '{' || c == '[') && i + 1 < object.size() && object[i + 1] == c + 2;
    if (in_string || empty || (c != '}' && c != ']')) out.push_back(c);
    if (in_string) continue;
    if (empty) {
      out.push_back(object[++i]);
    } else if (c == '{' || c == '[') {
      out.append(StrCat("\n", std::string(2 * ++depth, ' ')));
    } else if (c == '}' || c == ']') {
      out.append(StrCat("\n", std::string(2 * --depth, ' '), c));
    } else if (c == ',') {
      out.append(StrCat("\n", std::string(2 * depth, ' ')));
    } else if (c == ':') {
      out.push_back(' ');
    }
  }
  return out;
}

std::string_view ClassName(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUsage:
      return "usage";
    case ErrorCode::kInvalid:
      return "spec_invalid";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kUnavailable:
      return "unavailable";
    case ErrorCode::kInternal:
      return "internal";
    case ErrorCode::kCannotWrite:
      return "cannot_write";
    case ErrorCode::kNotPermitted:
      return "auth";
  }
  CHECK(false);
}

std::string ErrorJson(const Error& error) {
  const bool retryable = error.code == ErrorCode::kUnavailable;
  return StrCat(R"({"code":)", static_cast<int>(error.code), R"(,"class":)", JsonString(ClassName(error.code)),
                R"(,"message":)", JsonString(error.message), R"(,"retryable":)", retryable ? "true" : "false", "}");
}

int Fail(const Error& error, bool json) {
  if (json) return FailWith(error, R"({"schema":1})");
  for (const std::string& line : Split(error.message, '\n')) Say(StrCat("tony: ", line));
  return static_cast<int>(error.code);
}

int FailWith(const Error& error, std::string document) {
  PrintLine(WithFields(std::move(document), {{"error", ErrorJson(error)}}));
  return Fail(error, false);
}

void SuggestNext(const CommandLine& line, const std::vector<std::string>& commands) {
  if (line.Has("json") || line.Has("quiet") || !IsTerminal(STDERR_FILENO)) return;
  const auto columns = static_cast<size_t>(SizeOf(STDERR_FILENO).columns);
  std::string row = "next:";
  for (const std::string& command : commands) {
    const std::string typed = StrCat(" tony ", command, &command == &commands.back() ? "" : ",");
    if (TextWidth(row) + TextWidth(typed) > columns) Say(std::exchange(row, ""));  // a command is never split
    row += typed;
  }
  Say(row);
}

}  // namespace tony
