#include "runtime/cli/ended_folders.h"

#include <utility>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/cli/output.h"
#include "runtime/client/job_access.h"
#include "runtime/history/ended_log.h"
#include "runtime/records/local_job_store.h"

namespace tony {
namespace {

// Calls `visit` with the last line of each job; a log that cannot be read has none.
template <class Visit>
void VisitLog(const std::filesystem::path& home, Visit visit) {
  const auto log = EndedLog(home).Read();
  if (!log.ok()) return Say(StrCat("tony: ", log.error().message));
  ForEachEnded(log->text(), [&](const EndedLine& line) {
    visit(line);
    return true;
  });
}

}  // namespace

// The folders are read before the log is locked, so that nobody who ends a job waits for it.
Result<Reindexed> ReindexEndedJobs(const std::filesystem::path& home) {
  TRY_ASSIGN(const std::vector<JobRecords> jobs, LocalJobStore(home).List());
  Reindexed done;
  std::vector<EndedJob> ended;
  for (const JobRecords& records : jobs) {
    const auto status = StoredStatus(records);
    if (!status.ok()) {
      ++done.left_out;
      Say(StrCat("tony: job ", records.job().value, " left out: ", status.error().message));
    } else if (HasEnded(*status)) {
      ended.push_back(EndedJobOf(*status));
    }
  }
  done.from_folders = ended.size();
  TRY(EndedLog(home).Rewrite(ended, Instant::min()));
  VisitLog(home, [&done](const EndedLine&) { ++done.jobs; });
  return done;
}

EndedJobsUpkeep::EndedJobsUpkeep(std::filesystem::path home, Instant now)
    : home_(std::move(home)), since_(now - kEndedJobsKept) {
  VisitLog(home_, [this](const EndedLine& line) {
    known_.insert(UnescapeField(line.job));
    if (line.ended < since_) ++old_;
  });
}

bool EndedJobsUpkeep::Keep(const JobStatus& ended) {
  const EndedJob job = EndedJobOf(ended);
  if (job.ended < since_ || !known_.insert(job.job.value).second) return true;
  const Status appended = EndedLog(home_).Append(job);
  if (!appended.ok()) Say(StrCat("tony: ", appended.error().message));
  return appended.ok();
}

Status EndedJobsUpkeep::Sync() const { return EndedLog(home_).Sync(); }

size_t EndedJobsUpkeep::DropOld() {
  if (old_ == 0) return 0;
  const Status rewritten = EndedLog(home_).Rewrite({}, since_);
  if (rewritten.ok()) return old_;
  Say(StrCat("tony: ", rewritten.error().message));
  return 0;
}

}  // namespace tony
