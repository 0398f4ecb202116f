#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/job/stated_causes.h"

namespace tony {
namespace {

using Kind = StatedCause::Kind;
using Chain = ReadCause::Chain;

constexpr std::string_view kHeader = "Traceback (most recent call last)";
constexpr std::string_view kGroup = "+ Exception Group ";
constexpr size_t kMostMore = 20;

bool IsFrame(std::string_view line) { return line.starts_with("  File ") || line.starts_with("> File "); }

// Returns whether Python marks a part of a frame's code with this line, e.g. "    ~~^~~".
bool IsOfMarkers(std::string_view line) {
  const std::string_view text = Trim(line);
  return !text.empty() && text.find_first_not_of("^~") == std::string_view::npos;
}

// The lines of a traceback without the prefix that stands before each of them. The prefix may be a time, an
// indentation, or empty.
class Bodies {
 public:
  Bodies(const LogLines& lines, size_t at) : lines_(lines) {
    const std::string_view header = lines[at].text;
    prefix_ = header.substr(0, header.find(kHeader));
    if (prefix_.ends_with(kGroup)) {
      prefix_.remove_suffix(kGroup.size());
      prefix_ = prefix_.substr(0, prefix_.find_last_not_of(' ') + 1);
    }
    repeated_ = !prefix_.empty() && at + 1 < lines.size() &&
                MatchingPrefixSize(lines[at + 1].text, prefix_) != std::string::npos;
    if (!repeated_) prefix_ = prefix_.substr(0, std::min(prefix_.find_first_not_of(" \t"), prefix_.size()));
  }

  std::string_view operator[](size_t i) const {
    const std::string_view line = i < lines_.size() ? lines_[i].text : std::string_view();
    const size_t size = MatchingPrefixSize(line, prefix_);
    return size == std::string_view::npos ? line : line.substr(size);
  }

  bool repeated() const { return repeated_; }

 private:
  const LogLines& lines_;
  std::string_view prefix_;
  bool repeated_ = false;
};

// Returns the place of the exception's line after the frames that begin at `at`. Returns nothing if the traceback is
// incomplete.
std::optional<size_t> FindException(const LogLines& lines, const Bodies& bodies, size_t at) {
  // The number of lines from another thread that may stand in between.
  constexpr int kMostForeign = 5;
  int foreign = 0;
  for (; at < lines.size(); ++at) {
    const std::string_view line = bodies[at];
    if (Holds(line, kHeader)) return std::nullopt;
    if (IsEmptyLine(line)) {
      const bool goes_on = IsFrame(bodies[at + 1]) || LooksLikeException(bodies[at + 1]);
      if (!goes_on) return std::nullopt;
    } else if (!line.starts_with(' ') && !line.starts_with('\t') && !IsFrame(line)) {
      if (LooksLikeException(line)) return at;
      if (++foreign > kMostForeign) return std::nullopt;
    }
  }
  return std::nullopt;
}

bool IsOfLauncher(std::string_view line) {
  constexpr std::string_view kParts[] = {
      "CalledProcessError:",         "ChildFailedError:",       "returned non-zero exit status",
      "died with <Signals.",         "ProcessExitedException:", "Horovod detected that one or",
      "finished with failed status", "User application exited"};
  return std::ranges::any_of(kParts, [&](std::string_view part) { return Holds(line, part); });
}

struct Label {
  Kind kind = Kind::kUncaught;
  std::string remark;
  Chain chain = Chain::kNone;
  // The place of the first line of the label. The label is the text before a traceback, and states where the traceback
  // comes from.
  size_t begin = 0;
};

std::string Between(std::string_view line, std::string_view before) {
  std::string_view name = Trim(line.substr(before.size()));
  if (name.ends_with(':')) name.remove_suffix(1);
  return std::string(name);
}

bool IsIgnoredHere(std::string_view line) {
  constexpr std::string_view kBegins[] = {"Exception ignored ", "Error in atexit._run_exitfuncs",
                                          "Error in sys.excepthook", "--- Logging error ---",
                                          "Exception in ctypes callback"};
  return std::ranges::any_of(kBegins, [&](std::string_view begin) { return line.starts_with(begin); });
}

// Reads the line directly before a traceback, which shows where the traceback comes from. The text "Exception ignored
// in ..." may take several lines, so a few lines before the traceback are searched for it.
Label LabelBefore(const LogLines& lines, const Bodies& bodies, size_t header, size_t floor) {
  constexpr size_t kMostLines = 3;
  const auto at = [&](size_t i) { return bodies.repeated() ? bodies[i] : std::string_view(lines[i].text); };
  for (size_t i = header; i > floor && header - i < kMostLines; --i) {
    const std::string_view line = at(i - 1);
    if (IsEmptyLine(line)) break;
    if (IsIgnoredHere(line)) return {.kind = Kind::kIgnored, .begin = i - 1};
    if (Holds(line, "exception was never retrieved")) return {.kind = Kind::kHandled, .begin = i - 1};
  }
  size_t before = header;
  while (before > floor && header - before < kMostLines && IsEmptyLine(at(before - 1))) --before;
  if (before == floor) return {.begin = header};
  const std::string_view line = at(before - 1);
  if (line.starts_with("Exception in thread ")) {
    return {.kind = Kind::kThread,
            .remark = StrCat("in thread ", Between(line, "Exception in thread ")),
            .begin = before - 1};
  }
  if (line.starts_with("Process ") && line.ends_with(':') && before == header)
    return {.kind = Kind::kChild, .remark = StrCat("in process ", Between(line, "Process ")), .begin = before - 1};
  if (line.starts_with("The above exception was the direct cause"))
    return {.chain = Chain::kCausedBy, .begin = before - 1};
  if (line.starts_with("During handling of the above exception"))
    return {.chain = Chain::kWhileHandling, .begin = before - 1};
  if (line.starts_with("-- Process ")) return {.chain = Chain::kIsInside, .begin = before - 1};
  if (IsLoggedError(line) && before == header) return {.kind = Kind::kHandled, .begin = before - 1};
  return {.begin = header};
}

// Adds further lines of the message if the first line only announces them.
void AddMore(const Bodies& bodies, size_t behind, StatedCause& cause) {
  if (!cause.line.ends_with(':') && !cause.line.ends_with(',')) return;
  for (size_t i = behind; i < behind + kMostMore && !Holds(bodies[i], kHeader); ++i) {
    if (!IsEmptyLine(bodies[i])) cause.more.emplace_back(bodies[i]);
  }
}

// Reads a traceback of the Python library Rich, which draws a box around the frames and writes the exception below the
// box.
std::optional<ReadCause> ReadBox(const LogLines& lines, size_t at) {
  constexpr std::string_view kCorner = "\u2570";
  size_t end = at + 1;
  const auto is_end = [&](std::string_view line) {
    return Trim(line).starts_with(kCorner) || line.starts_with("+-") || Holds(line, kHeader);
  };
  while (end < lines.size() && !is_end(lines[end].text)) ++end;
  if (++end >= lines.size() || !LooksLikeException(lines[end].text)) return std::nullopt;
  return ReadCause{{.line = std::string(Trim(lines[end].text)), .begin = at, .end = end + 1}};
}

// Returns the text of a line in an exception group: " | ValueError: 1" gives "ValueError: 1". Returns nothing if the
// line is not part of an exception group.
std::optional<std::string_view> InGroup(std::string_view line) {
  const size_t margin = line.find_first_not_of(' ');
  if (margin == std::string_view::npos || (line[margin] != '|' && line[margin] != '+')) return std::nullopt;
  line.remove_prefix(margin + 1);
  return line.starts_with(' ') ? line.substr(1) : line;
}

// Reads an exception group. The cause is the first exception in it that is not a group itself. The remark names the
// second such exception and the group.
ReadCause ReadGroup(const LogLines& lines, const Bodies& bodies, size_t at) {
  ReadCause read{{.begin = at, .end = at + 1}};
  StatedCause& cause = read.cause;
  std::vector<std::string> inside, groups;
  const auto body = [&](size_t i) { return bodies.repeated() ? bodies[i] : std::string_view(lines[i].text); };
  for (; cause.end < lines.size(); ++cause.end) {
    const auto line = InGroup(body(cause.end));
    if (!line) break;
    if (!LooksLikeException(*line) || line->starts_with("Traceback")) continue;
    (Holds(line->substr(0, line->find(':')), "Group") ? groups : inside).emplace_back(*line);
  }
  const std::string group = groups.empty() ? "" : groups.front();
  cause.line = inside.empty() ? group : inside.front();
  if (inside.size() > 1) cause.remark = StrCat("and ", inside[1], ", ");
  if (!inside.empty()) cause.remark += StrCat("of ", group);
  return read;
}

// Reads a plain traceback, i.e. one that Rich has not drawn with a box and that is not an exception group.
std::optional<ReadCause> ReadPlain(const LogLines& lines, const Bodies& bodies, size_t at) {
  auto found = FindException(lines, bodies, at + 1);
  if (!found) return std::nullopt;
  // Ray writes the frames of the other process after the first exception, and then the exception of that process. The
  // second exception is the cause. Ray removes some of these frames, except their lines of markers.
  size_t next = *found + 1;
  while (IsOfMarkers(bodies[next])) ++next;
  if (IsFrame(bodies[next])) found = FindException(lines, bodies, next).value_or(*found);
  ReadCause read{{.line = std::string(Trim(bodies[*found])), .begin = at, .end = *found + 1}};
  const size_t first = IsEmptyLine(bodies[at + 1]) ? at + 2 : at + 1;
  // The exception was caught if its outermost frame is inside a function of the program.
  const std::string_view frame = bodies[first];
  read.is_caught = IsFrame(frame) && Holds(frame, ", in ") && !Holds(frame, ", in <module>") &&
                   !Holds(frame, "<frozen ") && !Holds(lines[at].text, "traceback : ");
  if (!IsOfLauncher(read.cause.line)) AddMore(bodies, *found + 1, read.cause);
  return read;
}

// Reads an ignored exception that has no traceback, e.g. because a stream could not be flushed.
std::optional<ReadCause> ReadIgnored(const LogLines& lines, size_t at) {
  const bool ignored = lines[at].text.starts_with("Exception ignored ") && at + 1 < lines.size();
  if (!ignored || !LooksLikeException(lines[at + 1].text) || Holds(lines[at + 1].text, kHeader)) return std::nullopt;
  return ReadCause{{.kind = Kind::kIgnored, .line = lines[at + 1].text, .begin = at, .end = at + 2}};
}

constexpr size_t kMostMessageLines = 8;
constexpr std::string_view kCauseOfNode = "[cause]: ";

// Returns whether the line is a frame of Java. Frames of Node.js have the same form: " at step (p.js:1:25)", " at
// p.js:2:1".
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

// Returns where the name of an exception begins, e.g. at "java" in "26/11/28 ERROR Job: java.io.IOException: x".
// Returns npos if the line names no exception.
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

// Returns the place of the line that names the exception of the first frame. The message between the two may have
// several lines.
size_t FindJavaHead(const LogLines& lines, size_t frame, size_t floor) {
  for (size_t at = frame; at > floor && frame - at < kMostMessageLines; --at) {
    if (FindThrowable(lines[at - 1].text) != std::string_view::npos) return at - 1;
  }
  return frame == floor ? frame : frame - 1;
}

// Returns whether the stack continues at `at`, or after a few lines of a message there.
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

// Reads "thread 'main' panicked at src/main.rs:2:5:" and the message below it. Older releases write both in one line.
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

bool LooksLikeException(std::string_view line) {
  constexpr std::string_view kCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.<>";
  line = line.substr(0, line.find_last_not_of(" \t") + 1);
  if (line.empty() || (line[0] >= '0' && line[0] <= '9')) return false;
  size_t end = std::min(line.find_first_not_of(kCharacters), line.size());
  if (end > 0 && end < line.size() && line[end] == '(') end = std::min(line.find(')', end), line.size() - 1) + 1;
  return end > 0 && (end == line.size() || line[end] == ':');
}

std::optional<ReadCause> ReadPython(const LogLines& lines, size_t at, size_t floor) {
  const std::string_view header = lines[at].text;
  const size_t begin = header.find(kHeader);
  if (begin == std::string_view::npos) return ReadIgnored(lines, at);
  const std::string_view prefix = header.substr(0, begin);
  const Bodies bodies(lines, at);
  std::optional<ReadCause> read;
  if (prefix.ends_with(kGroup)) {
    read = ReadGroup(lines, bodies, at);
  } else {
    const bool in_box = Holds(prefix, "\u256D") || prefix.starts_with("+--");
    read = in_box ? ReadBox(lines, at) : ReadPlain(lines, bodies, at);
  }
  if (!read) return std::nullopt;
  const Label label = LabelBefore(lines, bodies, at, floor);
  StatedCause& cause = read->cause;
  cause.kind = label.kind;
  if (!label.remark.empty()) cause.remark = label.remark;
  cause.begin = label.begin;
  read->chain = prefix == "Original " ? Chain::kIsInside : label.chain;
  const bool uncaught = cause.kind == Kind::kUncaught || cause.kind == Kind::kHandled;
  if (cause.kind == Kind::kUncaught && IsLoggedError(prefix)) cause.kind = Kind::kHandled;
  if (cause.kind == Kind::kUncaught && cause.line == "KeyboardInterrupt") cause.kind = Kind::kThread;
  if (uncaught && IsOfLauncher(cause.line)) cause.kind = Kind::kLauncher;
  return read;
}

std::optional<ReadCause> ReadJava(const LogLines& lines, size_t at, size_t floor) {
  if (!IsJavaFrame(lines[at].text) || at == floor) return std::nullopt;
  const size_t head = FindJavaHead(lines, at, floor);
  size_t end = at;
  std::string root;
  while (end < lines.size() && (IsOfJavaStack(lines[end].text) || GoesOn(lines, end))) {
    const std::string_view line = lines[end].text;
    if (line.starts_with("Caused by: ")) {
      const auto inside = ReadPython(lines, end, end);  // a Python traceback that Java quotes
      root = inside && !inside->cause.line.empty() ? inside->cause.line : JavaLine(line.substr(11));
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
  // Warnings are read only if a file could not be opened, because then a warning has the reason. In other cases,
  // warnings are about something else.
  const bool warnings_say_why = Holds(read.cause.line, "cannot open the connection");
  for (size_t i = at + 1; i < halted; ++i) {
    const std::string& text = lines[i].text;
    if (text.starts_with("In addition: ") && !warnings_say_why) break;
    if (text.starts_with("Caused by error")) {
      read.cause.remark = StrCat("the cause of ", read.cause.line);
      read.cause.line = MessageFrom(lines, i, halted);
    }
    if (!IsEmptyLine(text) && !ExplainsNothing(text)) read.cause.more.push_back(text);
  }
  return read;
}

std::optional<ReadCause> ReadPanic(const LogLines& lines, size_t at) {
  if (auto read = ReadGo(lines, at)) return read;
  if (auto read = ReadRust(lines, at)) return read;
  return ReadFatalPython(lines, at);
}

}  // namespace tony
