#include "runtime/client/log_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/store/log_holes.h"

namespace tony {

UniqueFd OpenLog(const JobFolder& folder, const AttemptId& attempt, std::string_view stream) {
  // Whatever a task has put in its log's place, opening it must not block.
  return UniqueFd(open((folder.LogFolder(attempt) / stream).c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
}

bool LineBegins(int fd, uint64_t offset) {
  char last = 0;
  return offset == 0 || pread(fd, &last, 1, static_cast<off_t>(offset - 1)) != 1 || last == '\n';
}

bool IsCut(int fd, uint64_t offset) {
  char next = 0;
  return ReadLog(fd, static_cast<int64_t>(offset), {&next, 1}).cut > 0;
}

std::string CutLine(int64_t bytes, bool line_begins) {
  const std::string amount =
      bytes < 10'000'000 ? StrCat((bytes + 999) / 1000, " kB") : StrCat(bytes / 1'000'000, " MB");
  return StrCat(line_begins ? "" : "\n", "[... ", amount, " cut ...]\n");
}

size_t WholeCharacters(std::string_view text) {
  constexpr size_t kLongestCharacter = 4;
  for (size_t back = 1; back <= std::min(kLongestCharacter, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xC0) == 0x80) continue;  // within a character
    const size_t length = byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
    return back < length && back < text.size() ? text.size() - back : text.size();
  }
  return text.size();
}

}  // namespace tony
