// One job that has ended, as a line of $TONY_HOME/history/ended.log:
//
//   1 job name user framework state class request-id submission submitted ended tasks restarts cause checksum
//
// Separated by tabs, ended by a line end. Times are in milliseconds; in texts control characters and backslashes are
// written as \hh. The checksum is CRC-32 (that of gzip) over all before its tab, in eight hex digits: a line that was
// cut or changed is never taken for one that was written. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/job/claim.h"
#include "runtime/job/ids.h"
#include "runtime/job/job_status.h"
#include "runtime/job/outcome.h"
#include "runtime/records/job_records.h"

namespace tony {

struct EndedJob {
  JobId job;
  std::string name, user, framework;
  FinalState state = FinalState::kSucceeded;
  OutcomeClass cls = OutcomeClass::kSuccess;
  RequestId request;
  int64_t number = 0;  // of the submission under that request id
  Instant submitted, ended;
  int64_t tasks = 0, restarts = 0;
  std::string cause;  // the first, at most 200 bytes
  bool operator==(const EndedJob&) const = default;
};

// Of a document with a verdict.
EndedJob EndedJobOf(const JobStatus& status);

// The same as it stands in a line: its texts are the line's, still escaped, and live as long as it.
struct EndedLine {
  std::string_view job, name, user, framework, request, cause;
  FinalState state = FinalState::kSucceeded;
  OutcomeClass cls = OutcomeClass::kSuccess;
  int64_t number = 0;
  Instant submitted, ended;
  int64_t tasks = 0, restarts = 0;
};

std::string ToLine(const EndedJob& job);  // with its line end
// `line`: without its line end. Nothing: torn, damaged, or of a version that we do not know.
std::optional<EndedLine> ReadEndedLine(std::string_view line);
EndedJob ToEndedJob(const EndedLine& line);

// Whether the checksum is right, whatever the version.
bool IsWholeLine(std::string_view line);

std::string EscapeField(std::string_view text);
std::string UnescapeField(std::string_view text);

// Which jobs a reader has met: a set of texts in one piece of memory, where std::unordered_set takes a fifth of the
// time that a question about 100,000 jobs may take.

// The texts must live as long as this.
class SeenJobs {
 public:
  // Whether it is the first time.
  bool Insert(std::string_view job) {
    if (2 * ++count_ > slots_.size()) Grow();
    const size_t hash = std::hash<std::string_view>()(job);
    Slot& slot = Find(slots_, hash, job);
    if (slot.used) {
      --count_;
      return false;
    }
    slot = {job, hash, true};
    return true;
  }

 private:
  struct Slot {
    std::string_view job;
    size_t hash = 0;
    bool used = false;
  };

  // Its slot, or the free one where it belongs. There is always a free one.
  static Slot& Find(std::vector<Slot>& slots, size_t hash, std::string_view job) {
    size_t at = hash & (slots.size() - 1);
    while (slots[at].used && (slots[at].hash != hash || slots[at].job != job)) at = (at + 1) & (slots.size() - 1);
    return slots[at];
  }

  void Grow() {
    std::vector<Slot> larger(slots_.empty() ? 256 : slots_.size() * 4);
    for (const Slot& slot : slots_) {
      if (slot.used) Find(larger, slot.hash, slot.job) = slot;
    }
    slots_ = std::move(larger);
  }

  std::vector<Slot> slots_;  // a power of two
  size_t count_ = 0;
};

// Questions about jobs that have ended. Pure functions of the log's text.

// All that is given must hold.
struct EndedFilter {
  std::optional<FinalState> state;
  std::optional<OutcomeClass> cls;
  std::optional<std::string> name;  // a pattern as in a shell
  std::optional<std::string> user, request;
  std::optional<Instant> since, until;  // of the end
};

struct EndedFound {
  std::vector<EndedJob> jobs;  // those recorded last first
  size_t skipped = 0;          // lines that cannot be believed, of those that were looked at
  bool complete = false;       // false: there are more, beyond the limit
};
EndedFound FindEnded(std::string_view log, const EndedFilter& filter, size_t limit);

struct EndedStats {
  int64_t jobs = 0, tasks = 0, restarts = 0;
  std::map<std::string, int64_t, std::less<>> by_state, by_class;
  Duration mean{0}, longest{0};  // from submission to end
  std::string longest_job;
  size_t skipped = 0;
};
EndedStats StatsOfEnded(std::string_view log, const EndedFilter& filter);

// $TONY_HOME/history/ended.log: what has become of each job, kept when its folder has gone.
//
// Whoever ends a job appends its line with one write(2), under a shared lock on the file; who writes the file anew
// holds the lock alone, and a writer that finds its file replaced opens the new one. So no line is lost between the
// two, and a process that dies or stops holds nobody up: who cannot append within two seconds leaves it, and
// `tony gc` or `tony history --reindex` finds the job later. An append is not synced: after a power cut they do, too.
// So gc syncs the log before it removes the folder of a job. Lines that were torn are skipped; of several about one job
// the last counts.

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
