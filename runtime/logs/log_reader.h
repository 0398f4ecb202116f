// Reads what the attempts of a job have written, from where an earlier reading ended. Nothing is held between readings
// but offsets, so a line may have any size and a cursor says everything.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/logs/log_choice.h"
#include "runtime/logs/log_source.h"

namespace tony {

class LogReader {
 public:
  // The caller's, who keeps both: `logs`, and `cursor`, where to begin, which reading moves on.
  LogReader(const LogSource& logs, LogChoice choice, LogCursor& cursor)
      : logs_(logs), choice_(std::move(choice)), cursor_(cursor) {}

  // Hands out what is new, at most `limit` bytes, and says whether that was all. A last line without its end is left
  // for later unless `last`. A file that cannot be read is as good as empty.
  bool Read(size_t limit, bool last, const std::function<void(const LogText&)>& sink);

  // Hands out the last `lines` lines of each stream (last_lines.h), together at most `limit` bytes: where that is too
  // little, equal shares, of which those that need less leave the rest to the others. Here a last line without its end
  // is handed out, whatever follows. The cursor is then behind all that there was.
  void ReadLastLines(uint64_t lines, size_t limit, bool last, const std::function<void(const LogText&)>& sink);
  // Moves the cursor to where those lines begin, and hands out nothing.
  void GoToLastLines(uint64_t lines);

 private:
  using Sink = std::function<void(const LogText&)>;
  struct Stream {
    AttemptId attempt;
    TaskStream of_task;
  };
  struct Budget {
    size_t left;
    bool used;
  };
  std::vector<Stream> AllChosen() const;
  std::unique_ptr<LogStream> Open(const Stream& stream) const;
  // Up to the offset `end`, if the file has so much.
  bool ReadStream(const Stream& stream, Budget& budget, bool last, const Sink& sink,
                  uint64_t end = std::numeric_limits<uint64_t>::max());

  const LogSource& logs_;
  const LogChoice choice_;
  LogCursor& cursor_;
};

}  // namespace tony
