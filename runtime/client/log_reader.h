// Reads what the attempts of a job have written, from where an earlier reading ended. Nothing is held between readings
// but offsets, so a line may have any size and a cursor says everything.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "runtime/base/result.h"
#include "runtime/client/log_choice.h"
#include "runtime/store/job_folder.h"

namespace tony {

class LogReader {
 public:
  // `cursor`, the caller's: where to begin, and moved on by reading.
  LogReader(const JobFolder& folder, LogChoice choice, LogCursor& cursor)
      : folder_(folder), choice_(std::move(choice)), cursor_(cursor) {}

  // Hands out what is new, at most `limit` bytes, and says whether that was all. A last line without its end is left
  // for later unless `last`. A file that cannot be read is as good as empty.
  bool Read(size_t limit, bool last, const std::function<void(const LogText&)>& sink);

 private:
  using Sink = std::function<void(const LogText&)>;
  struct Budget {
    size_t left;
    bool used;
  };
  bool ReadStream(const AttemptId& attempt, std::string_view stream, Budget& budget, bool last, const Sink& sink);

  const JobFolder folder_;
  const LogChoice choice_;
  LogCursor& cursor_;
};

}  // namespace tony
