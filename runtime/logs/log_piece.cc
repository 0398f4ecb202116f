#include "runtime/logs/log_piece.h"

#include <algorithm>

#include "runtime/logs/log_text.h"

namespace tony {

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
    if (got.cut > 0 && filled > 0) break;  // what follows the cut is the next piece
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

}  // namespace tony
