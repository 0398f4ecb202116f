#include "executor/log_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/base/utf8.h"
#include "runtime/os/files.h"

namespace tony::executor {
namespace {

constexpr int kMostLines = 20;
constexpr size_t kMostBytes = 4096;
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
  while (text.ends_with('\n')) text.remove_suffix(1);
  if (text.empty()) return words;
  for (const std::string& line : Split(text, '\n')) words.text += Printable(line) + "\n";
  return words;
}

LastWords ReadLastWords(const std::filesystem::path& file, const SecretMask& mask) {
  return LastWordsOf(mask.Masked(ReadEnd(file)));
}

}  // namespace tony::executor
