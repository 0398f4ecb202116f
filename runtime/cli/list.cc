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
#include <map>
#include <optional>

#include "runtime/base/json_text.h"
#include "runtime/base/strings.h"
#include "runtime/base/time.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/error_json.h"
#include "runtime/cli/next_steps.h"
#include "runtime/cli/numbers.h"
#include "runtime/cli/output.h"
#include "runtime/cli/progress.h"
#include "runtime/cli/queue.h"
#include "runtime/cli/terminal.h"
#include "runtime/cli/text_table.h"
#include "runtime/client/choose_backend.h"
#include "runtime/client/job_access.h"
#include "runtime/job/task_text.h"

namespace tony {
namespace {

constexpr int64_t kDefaultLimit = 100;
constexpr int kNever = TableColumn::kNever;

struct JobRow {
  JobStatus status;
  bool unruled = false;
};

// A job that waits may not have said so yet.
bool MayWait(const JobRow& listed) {
  return !HasEnded(listed.status) && (!listed.status.delay.empty() || listed.status.state != "RUNNING");
}

void AddRow(const JobRow& listed, const std::string& turn, Instant now, TextTable& table) {
  const JobStatus& job = listed.status;
  const TaskStatus together = UsedTogether(job);
  const std::string state = listed.unruled ? "unruled" : job.state;
  const std::string news =
      listed.unruled ? StrCat("nobody rules it; tony wait ", job.job.value, " brings it back") : NewsLine(job);
  const Style style = StyleOfState(state);
  const Style others = style == Style::kGood ? Style::kPlain : style;  // a row that wants a person's eye is coloured
  table.Add({{job.job.value, others},
             {state, style},
             {turn, others},
             {HumanDuration(now - job.submitted), others},
             {std::to_string(job.restart_count), others},
             {MemoryOfLimit(together, 0), others},
             {CpuText(together), others},
             {SafeLine(job.name), others},
             {SafeLine(news), others}});
}

// "2 of 5" among those that wait for the same machine or cluster, by job.
std::map<std::string, std::string> TurnsOf(const std::vector<JobRow>& jobs) {
  std::map<std::string, std::string> turns;
  if (!std::ranges::any_of(jobs, MayWait)) return turns;  // a cluster is asked for it
  const auto add = [&](const Backend& backend) -> Status {
    TRY_ASSIGN(const QueueView view, backend.operations().Queue());
    const auto waiting = std::ranges::count(view.jobs, false, &QueuedJob::runs);
    int64_t position = 0;
    for (const QueuedJob& job : view.jobs)
      if (!job.runs) turns[job.job.value] = StrCat(++position, " of ", waiting);
    return Ok();
  };
  // Where it cannot be told the table says the rest.
  (void)VisitConfigured(add);
  return turns;
}

std::string Table(const std::vector<JobRow>& jobs, Instant now, const TableRoom& room) {
  constexpr size_t kLeastName = 8, kLeastNews = 10;
  const auto turns = TurnsOf(jobs);
  TextTable table({{"JOB"},
                   {"STATE"},
                   {"QUEUE", turns.empty() ? kNever : 1},
                   {"AGE", 2},
                   {"RESTARTS", 7, true},
                   {"MEMORY", 5, true},
                   {"CPU", 6, true},
                   {"NAME", 4, false, kLeastName},
                   {"NEWS", 3, false, kLeastNews}});
  for (const JobRow& job : jobs) {
    const auto turn = turns.find(job.status.job.value);
    AddRow(job, turn != turns.end() && MayWait(job) ? turn->second : "-", now, table);
  }
  return table.Text(room);
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
  TRY_ASSIGN(const auto jobs, backend.Jobs(JobId()));
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
  TRY_ASSIGN(const TableRoom room, RoomOnStandardOutput(line));
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
  if (!listing.jobs.empty()) PrintAsIs(Table(listing.jobs, RealClock().Now(), room));
  if (listing.left_out > 0)
    Say(StrCat("tony: ", listing.left_out, " jobs that ended earlier: \"tony history\", or --limit 0"));
  if (listing.failure) return *listing.failure;
  if (!listing.jobs.empty()) SayNext(line, {"status JOB", "logs JOB", "history"});
  if (listing.jobs.empty()) Print("no jobs\n");
  return 0;
}

}  // namespace tony
