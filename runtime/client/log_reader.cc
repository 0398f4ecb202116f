#include "runtime/client/log_reader.h"

#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/client/log_file.h"
#include "runtime/store/log_holes.h"

namespace tony {
namespace {

constexpr size_t kChunk = 64 * 1024;

// How much of a reading may be handed out.
size_t Ready(std::string_view text, bool full, bool last) {
  const size_t line_end = text.rfind('\n');
  if (last && !full) return text.size();
  if (line_end != std::string_view::npos) return line_end + 1;
  return full ? WholeCharacters(text) : 0;
}

}  // namespace

bool LogReader::Read(size_t limit, bool last, const std::function<void(const LogText&)>& sink) {
  Budget budget = {limit, false};
  const std::vector<AttemptId> attempts = ChosenAttempts(folder_, choice_, cursor_);
  for (size_t i = 0; i < attempts.size(); ++i) {
    const bool ended = last || (i + 1 < attempts.size() && attempts[i + 1].task == attempts[i].task);
    if (choice_.standard_output && !ReadStream(attempts[i], "stdout", budget, ended, sink)) return false;
    if (choice_.standard_error && !ReadStream(attempts[i], "stderr", budget, ended, sink)) return false;
  }
  return true;
}

bool LogReader::ReadStream(const AttemptId& attempt, std::string_view stream, Budget& budget, bool last,
                           const Sink& sink) {
  const UniqueFd file = OpenLog(folder_, attempt, stream);
  if (!file.valid()) return true;
  uint64_t& offset = cursor_.Offset(attempt, stream);
  std::string chunk;
  while (true) {
    const size_t wanted = std::min(kChunk, budget.left);
    chunk.resize(std::max<size_t>(wanted, 1));  // at least one byte: is there more?
    const LogBytes got = ReadLog(file.get(), static_cast<int64_t>(offset), chunk);
    if (got.cut > 0) {
      if (wanted == 0) return false;
      const std::string line = CutLine(got.cut, LineBegins(file.get(), offset));
      offset += static_cast<uint64_t>(got.cut);
      sink({attempt, stream, line});
    }
    if (got.size == 0) return true;
    if (wanted == 0) return false;
    // What stands before a cut will not get longer.
    const bool full = got.size == wanted, closed = !full && IsCut(file.get(), offset + got.size);
    const std::string_view text(chunk.data(), got.size);
    const bool line_fits = !full || wanted == kChunk || text.find('\n') != std::string_view::npos;
    if (!line_fits && budget.used) return false;  // the next answer begins with that line
    const size_t ready = Ready(text, full, last || closed);
    if (ready == 0) return true;
    offset += ready;  // before it is handed out: the receiver may want a cursor behind it
    budget.left -= ready;
    budget.used = true;
    sink({attempt, stream, text.substr(0, ready)});
    if (!full && !closed) return true;
  }
}

}  // namespace tony
