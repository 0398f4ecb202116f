#include "executor/log_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/base/utf8.h"
#include "runtime/store/files.h"

namespace tony::executor {
namespace {

constexpr int kMostLines = 20;
constexpr size_t kMostBytes = 4096;
constexpr int kMostTracebackLines = 16;
constexpr size_t kMostTracebackBytes = 2048;
constexpr off_t kReadBytes = 1 << 20;  // from the end of the file

// Length of the terminal's control sequence (colours, cursor) that `text` begins with; 0 if it begins with none.
size_t ControlSequenceLength(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const size_t last = text.find_first_not_of("0123456789;:<=>?", 2);
  return last == std::string_view::npos ? text.size() : last + 1;
}

// Length of the control character that `text` begins with, tabs excepted; 0 if it begins with none.
size_t ControlLength(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const auto second = text.size() > 1 ? static_cast<unsigned char>(text[1]) : 0;
  if (first == 0xC2 && second < 0xA0) return 2;  // C1
  return (first < 0x20 && first != '\t') || first == 0x7F ? 1 : 0;
}

// One line as a person would see it on a terminal: of a progress bar, its last state.
std::string Printable(std::string_view line) {
  while (line.ends_with('\r')) line.remove_suffix(1);
  line.remove_prefix(line.rfind('\r') + 1);  // npos + 1 is 0
  const std::string valid = ReplaceInvalidUtf8(line);
  std::string text;
  for (std::string_view rest = valid; !rest.empty();) {
    const size_t hidden = std::max(ControlSequenceLength(rest), ControlLength(rest));
    if (hidden == 0) text += rest[0];
    rest.remove_prefix(std::max<size_t>(hidden, 1));
  }
  return text;
}

std::string_view LineAt(std::string_view text, size_t begin) {
  return text.substr(begin, text.find('\n', begin) - begin);
}

size_t BeginOfLine(std::string_view text, size_t place) {
  return place == 0 ? 0 : text.rfind('\n', place - 1) + 1;  // npos + 1 is 0
}

// An exception of a destructor or of a thread at its end, which Python reports and goes on.
bool IsIgnored(std::string_view text, size_t header) {
  return header > 0 &&
         LineAt(text, BeginOfLine(text, header - 1)).find("Exception ignored in") != std::string_view::npos;
}

// From its header to the line of the exception, the first one that is not indented. Launchers put the same prefix
// before each line. Empty: no traceback begins there, or it is not whole.
std::string_view TracebackAt(std::string_view text, size_t header, size_t prefix_size) {
  const std::string_view prefix = text.substr(header, prefix_size);
  for (size_t begin = text.find('\n', header); begin != std::string_view::npos; begin = text.find('\n', begin)) {
    std::string_view line = LineAt(text, ++begin);
    if (!line.starts_with(prefix)) return {};
    line.remove_prefix(prefix_size);
    if (line.empty()) return {};
    if (line.front() != ' ' && line.front() != '\t')
      return text.substr(header, begin - header + prefix_size + line.size());
  }
  return {};
}

std::string_view FindTraceback(std::string_view text) {
  constexpr std::string_view kHeader = "Traceback (most recent call last):";
  for (size_t at = text.rfind(kHeader); at != std::string_view::npos;
       at = at == 0 ? std::string_view::npos : text.rfind(kHeader, at - 1)) {
    const size_t header = BeginOfLine(text, at);
    const auto traceback = TracebackAt(text, header, at - header);
    if (!traceback.empty() && !IsIgnored(text, header)) return traceback;
  }
  return {};
}

std::string ReadEnd(const std::filesystem::path& file) {
  // A task may have put a link or a pipe in its log's place: nothing of another file gets into its outcome.
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

LastWords LastWordsOf(std::string_view text) {
  LastWords words{.lines = LastLines(text)};
  const std::string_view traceback = FindTraceback(text);
  if (traceback.empty()) return words;
  std::string found = LastLines(traceback, kMostTracebackLines, kMostTracebackBytes);
  const std::string exception = Printable(traceback.substr(traceback.rfind('\n') + 1));
  if (words.lines.find(exception) == std::string::npos) words.traceback = std::move(found);
  return words;
}

LastWords ReadLastWords(const std::filesystem::path& file, const SecretMask& mask) {
  return LastWordsOf(mask.Masked(ReadEnd(file)));
}

}  // namespace tony::executor
