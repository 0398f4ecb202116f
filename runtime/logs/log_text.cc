#include "runtime/logs/log_text.h"

#include <algorithm>

#include "runtime/base/strings.h"

namespace tony {

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
  constexpr size_t kMostBytes = 4;  // of a character
  for (size_t back = 1; back <= std::min(kMostBytes, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xC0) == 0x80) continue;  // within a character
    const size_t length = byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
    return back < length && back < text.size() ? text.size() - back : text.size();
  }
  return text.size();
}

}  // namespace tony
