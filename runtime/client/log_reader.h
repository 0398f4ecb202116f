// Reads what the attempts of a job wrote, from where an earlier reading ended. Nothing is held between readings but
// offsets, so a line may have any size and a cursor says everything.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/job/ids.h"
#include "runtime/store/job_folder.h"

namespace tony {

// Which logs are wanted.
struct LogChoice {
  std::optional<TaskId> task;  // none: all
  int attempt = 0;             // 0: the newest of each task, and those before it that this reader has begun
  bool standard_output = true;
  bool standard_error = true;
};

struct LogText {
  AttemptId attempt;
  std::string_view stream;  // "stdout", "stderr"
  std::string_view text;    // whole lines, unless a line is longer than a reading or its end has not been written
};

class LogReader {
 public:
  LogReader(const JobFolder& folder, LogChoice choice) : folder_(folder), choice_(std::move(choice)) {}

  // kUsage: not a cursor of ours.
  Status SetCursor(const std::string& cursor);
  std::string Cursor() const;

  // Attempts that have a log folder and are chosen, by task and number; looked up anew each time.
  std::vector<AttemptId> Attempts() const;

  // Hands out what is new, at most `limit` bytes, and says whether that was all. A last line without its end is left
  // for later unless `last`. A file that cannot be read is as good as empty.
  bool Read(size_t limit, bool last, const std::function<void(const LogText&)>& sink);

 private:
  int OldestBegun(const TaskId& task, int newest) const;
  struct Budget {
    size_t left;
    bool used;
  };
  bool ReadStream(const AttemptId& attempt, std::string_view stream, Budget& budget, bool last,
                  const std::function<void(const LogText&)>& sink);

  const JobFolder folder_;
  const LogChoice choice_;
  std::map<std::string, uint64_t> offsets_;  // "worker:0#1/stdout" -> bytes handed out
};

}  // namespace tony
