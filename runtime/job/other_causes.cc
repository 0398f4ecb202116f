#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/job/cause_readers.h"

namespace tony {
namespace {

using Kind = StatedCause::Kind;

constexpr size_t kMostMessageLines = 8;
constexpr std::string_view kCauseOfNode = "[cause]: ";

// Node.js writes frames of the same form: "    at step (p.js:1:25)", "    at p.js:2:1".
bool IsJavaFrame(std::string_view line) {
  const std::string_view text = Trim(line);
  return !line.empty() && (line[0] == ' ' || line[0] == '\t') && text.starts_with("at ") &&
         text.find_first_of(":(", 3) != std::string_view::npos;
}

bool IsOfJavaStack(std::string_view line) {
  const std::string_view text = Trim(line);
  const bool more = text.starts_with("... ") && (text.ends_with(" more") || text.ends_with("omitted"));
  return IsJavaFrame(line) || more || text.starts_with(kCauseOfNode) || text.starts_with("Suppressed: ") ||
         text.starts_with("Caused by: ") || text == "Driver stacktrace:";
}

// "26/11/28 ERROR Job: java.io.IOException: x" -> from "java" on. npos: it names no exception.
size_t FindThrowable(std::string_view line) {
  for (size_t end = line.find_first_of("EFT"); end != std::string_view::npos;
       end = line.find_first_of("EFT", end + 1)) {
    const std::string_view rest = line.substr(end);
    const size_t size = rest.starts_with("Exception") || rest.starts_with("Throwable") ? 9
                        : rest.starts_with("Error")                                    ? 5
                                                                                       : 0;
    if (size == 0 || (rest.size() > size && rest[size] != ':')) continue;
    size_t begin = end;
    while (begin > 0 && line[begin - 1] != ' ' && line[begin - 1] != '\t' && line[begin - 1] != ':') --begin;
    const bool dotted = Holds(line.substr(begin, end - begin), ".");
    if (dotted || begin == 0) return begin;
  }
  return std::string_view::npos;
}

// The line that the first frame belongs to: a message may have several.
size_t FindJavaHead(const LogLines& lines, size_t frame, size_t floor) {
  for (size_t at = frame; at > floor && frame - at < kMostMessageLines; --at) {
    if (FindThrowable(lines[at - 1].text) != std::string_view::npos) return at - 1;
  }
  return frame == floor ? frame : frame - 1;
}

// Whether a stack goes on after some lines of a message.
bool GoesOn(const LogLines& lines, size_t at) {
  const size_t last = std::min(at + kMostMessageLines, lines.size());
  for (; at < last; ++at) {
    const std::string_view line = lines[at].text;
    if (line.starts_with("Caused by: ") || IsJavaFrame(line)) return true;
    if (FindThrowable(line) != std::string_view::npos || IsLoggedError(line) || IsLoggedOther(line)) return false;
  }
  return false;
}

std::string JavaLine(std::string_view line) {
  const size_t begin = FindThrowable(line);
  return std::string(Trim(begin == std::string_view::npos ? line : line.substr(begin)));
}

// The exception of a Python program that Java quotes.
std::string PythonInside(const LogLines& lines, size_t at) {
  const auto inside = ReadPython(lines, at, at);
  return inside ? inside->cause.line : "";
}

Kind KindOfJava(std::string_view head, std::string_view before) {
  constexpr std::string_view kThread = "Exception in thread ";
  if (head.starts_with(kThread))
    return head.starts_with("Exception in thread \"main\"") ? Kind::kUncaught : Kind::kThread;
  return IsLoggedError(head) || IsLoggedError(before) ? Kind::kHandled : Kind::kUncaught;
}

std::string MessageFrom(const LogLines& lines, size_t at, size_t limit) {
  std::string_view text = Trim(lines[at].text);
  if (!text.ends_with(':') || at + 1 >= limit) return std::string(text);
  std::string_view next = Trim(lines[at + 1].text);
  if (next.starts_with("! ")) next.remove_prefix(2);
  return StrCat(text, " ", next);
}

std::optional<ReadCause> ReadGo(const LogLines& lines, size_t at) {
  constexpr size_t kNear = 12;
  const std::string_view line = lines[at].text;
  if (!line.starts_with("panic: ") && !line.starts_with("fatal error: ")) return std::nullopt;
  size_t end = at + 1;
  while (end < lines.size() && end - at < kNear && !lines[end].text.starts_with("goroutine ")) ++end;
  if (end >= lines.size() || !lines[end].text.starts_with("goroutine ")) return std::nullopt;
  const auto is_stack = [](std::string_view text) {
    return IsEmptyLine(text) || text[0] == '\t' || text.starts_with("goroutine ") || text.starts_with("created by ") ||
           text.ends_with(')');
  };
  while (end < lines.size() && is_stack(lines[end].text)) ++end;
  return ReadCause{{.line = std::string(Trim(line)), .begin = at, .end = end}};
}

// "thread 'main' panicked at src/main.rs:2:5:" and the message below it; of older ones, both in one line.
std::optional<ReadCause> ReadRust(const LogLines& lines, size_t at) {
  const std::string_view line = lines[at].text;
  if (!line.starts_with("thread '") || !Holds(line, " panicked at ")) return std::nullopt;
  ReadCause read{{.line = MessageFrom(lines, at, lines.size()), .begin = at, .end = at + 2}};
  StatedCause& cause = read.cause;
  const bool follows = Holds(cause.line, "Any { .. }") || Holds(cause.line, "a scoped thread panicked") ||
                       Holds(cause.line, "PoisonError");
  cause.kind = follows ? Kind::kLauncher : line.starts_with("thread 'main'") ? Kind::kUncaught : Kind::kThread;
  const auto is_stack = [](std::string_view text) {
    return text.starts_with("stack backtrace:") || text.starts_with("note: ") || text.starts_with("  ");
  };
  while (cause.end < lines.size() && is_stack(lines[cause.end].text)) ++cause.end;
  return read;
}

std::optional<ReadCause> ReadFatalPython(const LogLines& lines, size_t at) {
  if (!lines[at].text.starts_with("Fatal Python error: ")) return std::nullopt;
  const bool after_native_code = Holds(lines[at].text, "Aborted");
  ReadCause read{{.kind = after_native_code ? Kind::kLauncher : Kind::kUncaught,
                  .line = lines[at].text,
                  .begin = at,
                  .end = at + 1}};
  size_t& end = read.cause.end;
  const auto is_stack = [](std::string_view text) {
    return IsEmptyLine(text) || text.starts_with("Current thread ") || text.starts_with("Thread 0x") ||
           text.starts_with("  File ") || text.starts_with("  <") || text.starts_with("Python runtime state") ||
           text.starts_with("Extension modules:");
  };
  for (; end < lines.size(); ++end) {
    const std::string& line = lines[end].text;
    const bool is_reason = read.cause.more.empty() && LooksLikeException(line);
    if (!is_reason && !is_stack(line)) break;
    if (is_reason) read.cause.more.push_back(line);
  }
  return read;
}

}  // namespace

std::optional<ReadCause> ReadJava(const LogLines& lines, size_t at, size_t floor) {
  if (!IsJavaFrame(lines[at].text) || at == floor) return std::nullopt;
  const size_t head = FindJavaHead(lines, at, floor);
  size_t end = at;
  std::string root;
  while (end < lines.size() && (IsOfJavaStack(lines[end].text) || GoesOn(lines, end))) {
    const std::string_view line = lines[end].text;
    if (line.starts_with("Caused by: ")) {
      const std::string inside = PythonInside(lines, end);
      root = inside.empty() ? JavaLine(line.substr(11)) : inside;
    }
    if (Trim(line).starts_with(kCauseOfNode)) root = JavaLine(Trim(line).substr(kCauseOfNode.size()));
    ++end;
  }
  const std::string first = JavaLine(lines[head].text);
  ReadCause read{{.kind = KindOfJava(lines[head].text, head > floor ? std::string_view(lines[head - 1].text) : ""),
                  .line = root.empty() ? first : root,
                  .remark = root.empty() ? "" : StrCat("the cause of ", first),
                  .begin = head,
                  .end = end}};
  return read;
}

std::optional<ReadCause> ReadR(const LogLines& lines, size_t at, size_t halted) {
  constexpr size_t kNear = 60;
  const std::string_view line = lines[at].text;
  const bool begins = line.starts_with("Error in ") || line.starts_with("Error: ") || line == "Error:";
  if (!begins || at >= halted || halted - at > kNear) return std::nullopt;
  ReadCause read{{.line = MessageFrom(lines, at, halted), .begin = at, .end = halted + 1}};
  // A warning says why a file cannot be opened; other warnings are about something else.
  const bool warnings_say_why = Holds(read.cause.line, "cannot open the connection");
  for (size_t i = at + 1; i < halted; ++i) {
    const std::string& text = lines[i].text;
    if (text.starts_with("In addition: ") && !warnings_say_why) break;
    if (text.starts_with("Caused by error")) {
      read.cause.remark = StrCat("the cause of ", read.cause.line);
      read.cause.line = MessageFrom(lines, i, halted);
    }
    if (!IsEmptyLine(text) && !SaysNothing(text)) read.cause.more.push_back(text);
  }
  return read;
}

std::optional<ReadCause> ReadPanic(const LogLines& lines, size_t at) {
  if (auto read = ReadGo(lines, at)) return read;
  if (auto read = ReadRust(lines, at)) return read;
  return ReadFatalPython(lines, at);
}

}  // namespace tony
