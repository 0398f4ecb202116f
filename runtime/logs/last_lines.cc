#include "runtime/logs/last_lines.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "runtime/logs/log_text.h"

namespace tony {
namespace {

constexpr uint64_t kPieceSize = 64 * 1024;
constexpr uint64_t kLongestCharacter = 4;

// "" if it has been cut out meanwhile.
std::string ReadPiece(const LogStream& log, uint64_t offset, uint64_t size) {
  std::string text(size, '\0');
  const LogBytes got = log.Read(static_cast<int64_t>(offset), text);
  text.resize(got.cut == 0 ? got.size : 0);
  return text;
}

// Looks from the end to the beginning for places where a line begins.
class Search {
 public:
  Search(const LogStream& log, uint64_t lines, uint64_t limit, uint64_t end)
      : log_(log), lines_(lines), limit_(limit), found_{end, end, 0} {}

  // What precedes all that has been looked at; false: no more is needed.
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
  // Text that ends at `end`. Its last byte may end a line, but begins none: that begins in what follows.
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
    if (text == found_.text) return true;  // nothing follows, or a cut: what is before it may end with a line end
    found_.begin = offset;
    found_.text = text;
    return --lines_ > 0;
  }

  // The limit is reached within a line, or just before it.
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
  uint64_t lines_;  // still to be found
  const uint64_t limit_;
  uint64_t seen_ = 0;
  LastLines found_;
};

}  // namespace

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

}  // namespace tony
