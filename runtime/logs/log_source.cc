#include "runtime/logs/log_source.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "runtime/base/strings.h"

namespace tony {
namespace {

int64_t EndOf(const LogExcerpt::Part& part) { return part.begin + static_cast<int64_t>(part.text.size()); }

class ExcerptStream : public LogStream {
 public:
  explicit ExcerptStream(const LogExcerpt& excerpt) : excerpt_(excerpt) {}

  LogBytes Read(int64_t offset, std::span<char> buffer) const override {
    const auto part =
        std::ranges::find_if(excerpt_.parts, [&](const LogExcerpt::Part& one) { return EndOf(one) > offset; });
    if (part == excerpt_.parts.end()) return {std::max<int64_t>(excerpt_.size - offset, 0), 0};
    const int64_t cut = std::max<int64_t>(part->begin - offset, 0);
    const size_t from = static_cast<size_t>(offset + cut - part->begin);
    const size_t size = std::min(buffer.size(), part->text.size() - from);
    std::copy_n(part->text.data() + from, size, buffer.data());
    return {cut, size};
  }
  std::vector<LogPart> Parts() const override {
    std::vector<LogPart> parts;
    for (const LogExcerpt::Part& part : excerpt_.parts)
      parts.push_back({static_cast<uint64_t>(part.begin), static_cast<uint64_t>(EndOf(part))});
    return parts;
  }
  int64_t Size() const override { return excerpt_.size; }
  std::optional<Instant> Changed() const override { return std::nullopt; }

 private:
  const LogExcerpt& excerpt_;
};

constexpr uint64_t kPieceSize = 64 * 1024;
constexpr uint64_t kLongestCharacter = 4;

// Reads a piece of the log. Returns "" if the text has been cut out meanwhile.
std::string ReadPiece(const LogStream& log, uint64_t offset, uint64_t size) {
  std::string text(size, '\0');
  const LogBytes got = log.Read(static_cast<int64_t>(offset), text);
  text.resize(got.cut == 0 ? got.size : 0);
  return text;
}

// Searches backwards, from the end of a log to its beginning, for places where a line begins.
class Search {
 public:
  Search(const LogStream& log, uint64_t lines, uint64_t limit, uint64_t end)
      : log_(log), lines_(lines), limit_(limit), found_{end, end, 0} {}

  // Searches a part that lies before all parts that were searched so far. Returns false if no more text is needed.
  bool LookAt(const LogPart& part) {
    uint64_t at = part.end;
    while (at > part.begin) {
      const uint64_t size = std::min({kPieceSize, at - part.begin, limit_ - seen_});
      if (size == 0) return TakeEndOfLine(at);
      const std::string text = ReadPiece(log_, at - size, size);
      if (text.size() < size) return false;
      if (!LookAt(text, at)) return false;
      at -= size;
    }
    return Begins(part.begin, seen_);
  }
  const LastLines& found() const { return found_; }

 private:
  // Searches the text that ends at `end`. A line end in its last byte marks a line that begins behind this text.
  bool LookAt(std::string_view text, uint64_t end) {
    for (size_t size = text.size(), newline; (newline = text.substr(0, size).rfind('\n')) != text.npos;
         size = newline) {
      const uint64_t behind = text.size() - newline - 1;
      if (!Begins(end - behind, seen_ + behind)) return false;
    }
    seen_ += text.size();
    return true;
  }

  bool Begins(uint64_t offset, uint64_t text) {
    // If nothing or only a cut lies between `offset` and `found_.begin`, a line at `offset` would have no text, so it
    // does not count.
    if (text == found_.text) return true;
    found_.begin = offset;
    found_.text = text;
    return --lines_ > 0;
  }

  // Ends the search at the place where the limit is reached, within a line or just before a line.
  bool TakeEndOfLine(uint64_t at) {
    if (LineBegins(log_, at)) return Begins(at, seen_) && false;
    if (found_.text > 0) return false;
    const std::string text = ReadPiece(log_, at, std::min(kLongestCharacter, seen_));
    const auto within = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
    const auto skipped = static_cast<uint64_t>(std::ranges::find_if_not(text, within) - text.begin());
    found_.begin = at + skipped;
    found_.text = seen_ - skipped;
    return false;
  }

  const LogStream& log_;
  uint64_t lines_;  // lines still to find
  const uint64_t limit_;
  uint64_t seen_ = 0;
  LastLines found_;
};

}  // namespace

Status UnreadError(const std::map<AttemptId, std::string>& unread) {
  constexpr size_t kMostNames = 3;
  if (unread.empty()) return Ok();
  std::vector<std::string> names;
  for (const auto& [attempt, why] : unread)
    if (names.size() < kMostNames) names.push_back(ToString(attempt));
  const size_t more = unread.size() - names.size();
  const std::string others = more > 0 ? StrCat(" and ", Counted(static_cast<int64_t>(more), "more attempt")) : "";
  return UnavailableError("the logs of ", Join(names, ", "), others, " cannot be read: ", unread.begin()->second);
}

LogPiece ReadLogPiece(const LogSource& logs, const AttemptId& attempt, std::string_view stream,
                      std::optional<int64_t> cursor, int64_t most) {
  LogPiece piece;
  const auto log = logs.Open(attempt, stream);
  if (!log) return piece;
  piece.size = log->Size();
  const int64_t from = std::clamp<int64_t>(cursor.value_or(piece.size - most), 0, piece.size);
  piece.text.resize(static_cast<size_t>(most));
  size_t filled = 0;
  piece.begin = from;
  while (filled < piece.text.size()) {
    const int64_t at = piece.begin + static_cast<int64_t>(filled);
    const LogBytes got = log->Read(at, {piece.text.data() + filled, piece.text.size() - filled});
    // The text behind the cut is the next piece.
    if (got.cut > 0 && filled > 0) break;
    piece.begin += got.cut;
    if (got.size == 0) break;
    filled += got.size;
  }
  piece.text.resize(filled);
  if (filled == static_cast<size_t>(most)) piece.text.resize(WholeCharacters(piece.text));
  piece.next = piece.begin + static_cast<int64_t>(piece.text.size());
  const size_t line = !cursor && from > 0 && piece.begin == from ? piece.text.find('\n') : std::string::npos;
  if (line != std::string::npos) {
    piece.begin += static_cast<int64_t>(line) + 1;
    piece.text.erase(0, line + 1);
  }
  return piece;
}

std::vector<AttemptLogs> ListLogs(const LogSource& logs, const TaskStatus& task, int most) {
  std::vector<AttemptLogs> found;
  for (int number = task.attempt; number > std::max(0, task.attempt - most); --number) {
    const AttemptId attempt{task.id, number};
    if (const auto files = logs.List(attempt)) found.push_back({attempt, *files});
  }
  return found;
}

bool LineBegins(const LogStream& log, uint64_t offset) {
  char last = 0;
  if (offset == 0) return true;
  const LogBytes got = log.Read(static_cast<int64_t>(offset) - 1, {&last, 1});
  return got.cut == 0 && (got.size != 1 || last == '\n');
}

uint64_t LineBeginAt(const LogStream& log, uint64_t offset) {
  constexpr uint64_t kPiece = 4096, kFarthest = 1 << 20;
  const uint64_t first = offset - std::min(offset, kFarthest);
  std::string piece;
  for (uint64_t end = offset; end > first;) {
    const uint64_t begin = end - std::min(end - first, kPiece);
    piece.resize(end - begin);
    const LogBytes got = log.Read(static_cast<int64_t>(begin), piece);
    if (got.cut > 0 || got.size < piece.size()) return offset;
    if (const size_t newline = piece.rfind('\n'); newline != std::string::npos) return begin + newline + 1;
    end = begin;
  }
  return first == 0 ? 0 : offset;
}

bool IsCut(const LogStream& log, uint64_t offset) {
  char next = 0;
  return log.Read(static_cast<int64_t>(offset), {&next, 1}).cut > 0;
}

bool WasEmptied(const LogStream& log, uint64_t read) {
  const int64_t size = read == 0 ? 0 : log.Size();
  return size > 0 && static_cast<uint64_t>(size) < read;
}

std::string CutLine(int64_t bytes, bool line_begins) {
  const std::string amount =
      bytes < 10'000'000 ? StrCat((bytes + 999) / 1000, " kB") : StrCat(bytes / 1'000'000, " MB");
  return StrCat(line_begins ? "" : "\n", "[... ", amount, " cut ...]\n");
}

size_t WholeCharacters(std::string_view text) {
  constexpr size_t kMostBytes = 4;  // bytes of the longest character
  for (size_t back = 1; back <= std::min(kMostBytes, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xC0) == 0x80) continue;  // a continuation byte
    const size_t length = byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
    return back < length && back < text.size() ? text.size() - back : text.size();
  }
  return text.size();
}

std::unique_ptr<LogStream> LogOf(const LogExcerpt& excerpt) { return std::make_unique<ExcerptStream>(excerpt); }

LastLines FindLastLines(const LogStream* log, uint64_t lines, uint64_t limit, bool grows) {
  std::vector<LogPart> parts = log ? log->Parts() : std::vector<LogPart>();
  if (parts.empty()) return {};
  LogPart& last = parts.back();
  const uint64_t size = std::min(kLongestCharacter, last.end - last.begin);
  const std::string text = ReadPiece(*log, last.end - size, size);
  if (grows) last.end -= text.size() - WholeCharacters(text);
  Search search(*log, lines, limit, last.end);
  if (lines == 0 || limit == 0) return search.found();
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    if (!search.LookAt(*part)) break;
  }
  return search.found();
}

std::vector<std::string> LogNames(int processes) {
  std::vector<std::string> names = {"stdout", "stderr", "executor.log"};
  for (int i = 1; i < processes; ++i) {
    names.push_back(NameForProcess("stdout", i));
    names.push_back(NameForProcess("stderr", i));
  }
  return names;
}

}  // namespace tony
