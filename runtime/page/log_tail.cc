#include "runtime/page/log_tail.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/base/unique_fd.h"
#include "runtime/store/log_holes.h"

namespace tony {
namespace {

// Length of the unfinished character at the end of `text`, cut at an arbitrary byte.
size_t UnfinishedCharacter(std::string_view text) {
  for (size_t back = 1; back <= std::min<size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xC0) == 0x80) continue;  // within a character
    const size_t length = byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
    return back < length ? back : 0;
  }
  return 0;
}

}  // namespace

LogPiece ReadLogPiece(const JobFolder& folder, const AttemptId& attempt, std::string_view stream,
                      std::optional<int64_t> cursor, int64_t most) {
  LogPiece piece;
  // Whatever a task has put in its log's place: a link is not followed, and opening a pipe does not block.
  const UniqueFd file(
      open((folder.LogFolder(attempt) / stream).c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW));
  struct stat info {};
  if (!file.valid() || fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return piece;
  piece.size = info.st_size;
  const int64_t from = std::clamp<int64_t>(cursor.value_or(piece.size - most), 0, piece.size);
  piece.text.resize(static_cast<size_t>(most));
  size_t filled = 0;
  piece.begin = from;
  while (filled < piece.text.size()) {
    const int64_t at = piece.begin + static_cast<int64_t>(filled);
    const LogBytes got = ReadLog(file.get(), at, {piece.text.data() + filled, piece.text.size() - filled});
    if (got.cut > 0 && filled > 0) break;  // what follows the cut is the next piece
    piece.begin += got.cut;
    if (got.size == 0) break;
    filled += got.size;
  }
  piece.text.resize(filled);
  if (filled == static_cast<size_t>(most)) piece.text.resize(filled - UnfinishedCharacter(piece.text));
  piece.next = piece.begin + static_cast<int64_t>(piece.text.size());
  const size_t line = !cursor && from > 0 && piece.begin == from ? piece.text.find('\n') : std::string::npos;
  if (line != std::string::npos) {
    piece.begin += static_cast<int64_t>(line) + 1;
    piece.text.erase(0, line + 1);
  }
  return piece;
}

}  // namespace tony
