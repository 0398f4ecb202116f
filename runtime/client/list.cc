// `tony list`: jobs by what their folders say, so that many are listed at once; status asks the AMs. Of those that have
// ended only the newest are read: `tony history` is for the others. With --json:
//
//   {"schema":1,"jobs":[...],"left_out":0}    jobs as in status.json, "unruled" as in `tony status` for those that have
//                                             not ended; "left_out" have ended and are beyond the limit
//
// A job that cannot be read hides none of the others, but the exit code is its own: 69 if the disk fails, 77 if it is
// somebody else's, 65 if its files are damaged.
#include <algorithm>
#include <filesystem>
#include <optional>

#include "runtime/backend/backend.h"
#include "runtime/base/strings.h"
#include "runtime/client/commands.h"
#include "runtime/client/error_json.h"
#include "runtime/client/job_access.h"
#include "runtime/client/numbers.h"
#include "runtime/client/output.h"
#include "runtime/client/progress.h"
#include "runtime/client/queue.h"
#include "runtime/client/terminal.h"
#include "runtime/job/task_text.h"

namespace tony {
namespace {

constexpr int64_t kDefaultLimit = 100;

struct JobRow {
  JobStatus status;
  bool unruled = false;
};

std::string RowText(const JobRow& listed, Instant now) {
  const JobStatus& job = listed.status;
  const TaskStatus together = UsedTogether(job);
  const std::string state = listed.unruled ? "unruled" : job.state;
  const std::string news =
      listed.unruled ? StrCat("nobody rules it; tony wait ", job.job.value, " brings it back") : NewsLine(job);
  return StrCat(TableCell(job.job.value, 28), TableCell(state, 10), TableCell(HumanDuration(now - job.submitted), 12),
                TableCell(std::to_string(job.restart_count), 8), TableCell(MemoryText(together), 11),
                TableCell(CpuText(together), 5), TableCell(SafeLine(job.name), 16), news, "\n");
}

std::string Table(const std::vector<JobRow>& jobs, Instant now) {
  std::string table =
      StrCat(TableCell("JOB", 28), TableCell("STATE", 10), TableCell("AGE", 12), TableCell("RESTARTS", 8),
             TableCell("MEMORY", 11), TableCell("CPU", 5), TableCell("NAME", 16), "NEWS\n");
  for (const JobRow& job : jobs) table += RowText(job, now);
  return table;
}

std::string Document(const JobRow& job) {
  if (HasEnded(job.status)) return ToJson(job.status);
  return WithFields(ToJson(job.status), {{"unruled", job.unruled ? "true" : "false"}});
}

struct Listing {
  std::vector<JobRow> jobs;
  size_t left_out = 0;
  std::optional<Error> failure;  // some job could not be read
};

ErrorCode CodeOf(const Error& error) {
  return error.code == ErrorCode::kNotFound ? ErrorCode::kInvalid : error.code;  // a file of a job that is there
}

Status AddJobs(const JobStore& jobs, size_t most_finished, Listing& listing) {
  TRY_ASSIGN(const auto chosen, jobs.ListNewest(most_finished));
  listing.left_out += chosen.left_out;
  size_t unread = 0;
  for (const JobRecords& records : chosen.jobs) {
    Result<JobStatus> status = StoredStatus(records);
    const auto found = status.ok() ? Result<JobRecords>(records) : jobs.Find(records.job());
    if (!status.ok() && found.ok()) status = StoredStatus(records);  // it may have been made meanwhile
    if (status.ok()) {
      const ArbiterView seen = HasEnded(*status) ? ArbiterView() : BackendOf(records.job()).arbiter().Look(records);
      if (status->delay.empty()) status->delay = seen.waits;
      const bool unruled = !HasEnded(*status) && !seen.IsRuled();
      listing.jobs.push_back({*std::move(status), unruled});
    } else if (found.ok() || found.error().code != ErrorCode::kNotFound) {
      Say(StrCat("tony: job ", records.job().value, " left out: ", status.error().message));
      const ErrorCode code = listing.failure ? listing.failure->code : CodeOf(status.error());
      listing.failure = Error{code, StrCat(++unread, " of ", chosen.jobs.size(), " jobs could not be read")};
    }  // else it was removed meanwhile
  }
  return Ok();
}

Status AddJobsOf(const Backend& backend, size_t most_finished, Listing& listing) {
  TRY_ASSIGN(const auto jobs, backend.Jobs());
  return AddJobs(*jobs, most_finished, listing);
}

Result<Listing> ListJobs(size_t most_finished) {
  Listing listing;
  const auto add = [&](const Backend& backend) { return AddJobsOf(backend, most_finished, listing); };
  TRY_ASSIGN(const auto failure, VisitConfigured(add));
  if (failure) listing.failure = failure;
  return listing;
}

}  // namespace

Result<int> RunList(const CommandLine& line) {
  if (line.Has("queue")) return RunQueue(line);
  TRY_ASSIGN(const auto limit, NumberOption(line, "limit"));
  const int64_t most = limit.value_or(kDefaultLimit);
  TRY_ASSIGN(const Listing listing, ListJobs(most == 0 ? SIZE_MAX : static_cast<size_t>(most)));
  if (line.Has("json")) {
    std::vector<std::string> documents;
    for (const JobRow& job : listing.jobs) documents.push_back(Document(job));
    const std::string document =
        StrCat(R"({"schema":1,"jobs":[)", Join(documents, ","), R"(],"left_out":)", listing.left_out, "}");
    if (listing.failure) return FailWith(*listing.failure, document);
    PrintLine(document);
    return 0;
  }
  if (!listing.jobs.empty()) Print(Table(listing.jobs, RealClock().Now()));
  if (listing.left_out > 0)
    Say(StrCat("tony: ", listing.left_out, " jobs that ended earlier: \"tony history\", or --limit 0"));
  if (listing.failure) return *listing.failure;
  if (listing.jobs.empty()) Print("no jobs\n");
  return 0;
}

}  // namespace tony
