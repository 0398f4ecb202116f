// A job that has ended, as a line of $TONY_HOME/history/ended.log:
//
//   1 job name user framework state class request-id submission submitted ended tasks restarts cause checksum
//
// Fields are separated by tabs, and a line end follows the last one. Times are milliseconds since 1970. In texts,
// control characters and backslashes are written as \hh. The checksum is the CRC-32 of gzip over everything before its
// tab, in eight hex digits. A line that was cut or changed is therefore detected. The functions below are pure.
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
  int64_t number = 0;  // submission number under the request id
  Instant submitted, ended;
  int64_t tasks = 0, restarts = 0;
  std::string cause;  // first cause, at most 200 bytes
  bool operator==(const EndedJob&) const = default;
};

// Returns the ended job that `status` describes. `status` must have a verdict.
EndedJob EndedJobOf(const JobStatus& status);

// An ended job as read from a line. The texts are still escaped and point into the line, which must outlive this
// object.
struct EndedLine {
  std::string_view job, name, user, framework, request, cause;
  FinalState state = FinalState::kSucceeded;
  OutcomeClass cls = OutcomeClass::kSuccess;
  int64_t number = 0;
  Instant submitted, ended;
  int64_t tasks = 0, restarts = 0;
};

std::string ToLine(const EndedJob& job);  // with a line end
// Returns nullopt for a line that is torn, damaged, or of an unknown version. `line` has no line end.
std::optional<EndedLine> ReadEndedLine(std::string_view line);
EndedJob ToEndedJob(const EndedLine& line);

// Returns whether the line's checksum is right. The line may be of any version.
bool IsWholeLine(std::string_view line);

std::string EscapeField(std::string_view text);
std::string UnescapeField(std::string_view text);

// The set of jobs that a reader has already seen, in one piece of memory. std::unordered_set is not used, because that
// set alone would take a fifth of the time that a query over 100,000 jobs may take.

// The texts passed to Insert() must outlive this object.
class SeenJobs {
 public:
  // Inserts the job. Returns true if the set did not contain it before.
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

  // Returns the job's slot, or the free slot where the job belongs. A free slot always exists.
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

  // The number of slots is 0 or a power of two.
  std::vector<Slot> slots_;
  size_t count_ = 0;
};

// Queries about jobs that have ended. These functions are pure: their results depend only on the log's text.

// A filter for ended jobs. A job matches if all given values match.
struct EndedFilter {
  std::optional<FinalState> state;
  std::optional<OutcomeClass> cls;
  std::optional<std::string> name;  // a shell pattern
  std::optional<std::string> user, request;
  std::optional<Instant> since, until;  // range of the end time
};

struct EndedFound {
  std::vector<EndedJob> jobs;  // the job recorded last comes first
  size_t skipped = 0;          // number of damaged lines
  bool complete = false;       // false: the limit was reached
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

// $TONY_HOME/history/ended.log: the outcome of each job, kept after the job's folder has been removed.
//
// A process that ends a job appends the job's line with one write(2), under a shared lock on the file. A process that
// rewrites the file holds the lock alone. If the file was replaced while an appending process waited for the lock, that
// process opens the new file, so its line is not lost. Processes that die or stop do not block others: a process that
// cannot append within two seconds gives up, and `tony gc` or `tony history --reindex` adds the job later. Appends are
// not synced, so a power cut may lose lines. gc and reindex add lost lines again from the folders of the jobs, and gc
// syncs the log before it removes such a folder. Torn lines are skipped. If several lines are about one job, the last
// line counts.

// The log's bytes at the time when it was opened, mapped into memory. The bytes do not change, because the file only
// grows.
class EndedText {
 public:
  EndedText() = default;                                             // the log does not exist
  EndedText(const char* begin, size_t size) : text_(begin, size) {}  // takes ownership of a mapping
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
  Status Sync() const;  // makes appended lines survive power cuts
  Result<EndedText> Read() const;

  // Rewrites the log in the order of the end times. The new log contains `jobs`, and the last line of every other job
  // that ended at `since` or later. Lines of later versions stay.
  Status Rewrite(const std::vector<EndedJob>& jobs, Instant since) const;

 private:
  std::filesystem::path path() const { return home_ / "history" / "ended.log"; }

  const std::filesystem::path home_;
};

// Appends the job to the log. The job's folder must be $TONY_HOME/jobs/ID, and its status must have a verdict. After an
// error the job is not recorded.
Status RecordEnd(const JobRecords& records);

// The result of ForEachEnded(). That function calls `visit` with the last line of each job, from the end of the log to
// its beginning, until `visit` returns false.
struct EndedScan {
  size_t skipped = 0;     // number of damaged lines
  bool complete = false;  // true: all lines were read
};
EndedScan ForEachEnded(std::string_view text, const std::function<bool(const EndedLine&)>& visit);

}  // namespace tony
