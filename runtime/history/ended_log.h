// $TONY_HOME/history/ended.log: what has become of each job, kept when its folder has gone.
//
// Whoever ends a job appends its line with one write(2), under a shared lock on the file; who writes the file anew
// holds the lock alone, and a writer that finds its file replaced opens the new one. So no line is lost between the
// two, and a process that dies or stops holds nobody up: who cannot append within two seconds leaves it, and
// `tony gc` or `tony history --reindex` finds the job later. An append is not synced: after a power cut they do, too.
// So gc syncs the log before it removes the folder of a job. Lines that were torn are skipped; of several about one job
// the last counts.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/history/ended_line.h"
#include "runtime/records/job_records.h"

namespace tony {

// The log's bytes as they were when it was opened, mapped into memory. Nobody changes them: the file only grows.
class EndedText {
 public:
  EndedText() = default;                                             // of a log that is not there
  EndedText(const char* begin, size_t size) : text_(begin, size) {}  // takes over a mapping
  EndedText(EndedText&& other) noexcept;
  EndedText& operator=(EndedText&& other) noexcept;
  ~EndedText();
  std::string_view text() const { return text_; }

 private:
  std::string_view text_;
};

class EndedLog {
 public:
  explicit EndedLog(std::filesystem::path home) : home_(std::move(home)) {}  // $TONY_HOME

  Status Append(const EndedJob& job) const;
  Status Sync() const;  // what was appended survives a power cut
  Result<EndedText> Read() const;

  // Writes the log anew, by the time of the ends: `jobs`, and of every other job its last line if that ended at `since`
  // or later. Lines of later versions stay.
  Status Rewrite(const std::vector<EndedJob>& jobs, Instant since) const;

 private:
  std::filesystem::path path() const { return home_ / "history" / "ended.log"; }

  const std::filesystem::path home_;
};

// Appends the job of this folder, $TONY_HOME/jobs/ID, if its status has a verdict. An error leaves it unrecorded.
Status RecordEnd(const JobRecords& records);

// Calls `visit` with the last line of each job, from the end of the log to its beginning, until it says false.
struct EndedScan {
  size_t skipped = 0;     // lines that cannot be believed
  bool complete = false;  // all were looked at
};
EndedScan ForEachEnded(std::string_view text, const std::function<bool(const EndedLine&)>& visit);

}  // namespace tony
