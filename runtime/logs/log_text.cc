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

bool IsCut(const LogStream& log, uint64_t offset) {
  char next = 0;
  return log.Read(static_cast<int64_t>(offset), {&next, 1}).cut > 0;
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
