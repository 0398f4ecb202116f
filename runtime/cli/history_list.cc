// `tony history` without a JOB: the jobs that have ended. With --json the job recorded last comes first, and times are
// in ISO 8601:
//
//   {"schema":1,"jobs":[{"job","name","user","framework","state","class","request_id","submission","submitted",
//    "ended","tasks","restarts","message","folder":true}],"matched":50,"complete":false,"skipped_lines":0}
//
// "request_id" and "submission" are present if the job has a request. "message" is the first cause of a failure, at
// most 200 bytes; "" if the job succeeded. "folder" is true if `tony history JOB` and `tony logs JOB` can still find
// the job. "matched" is the number of jobs found. The search stops at the limit, so there may be more jobs unless
// "complete" is true. "skipped_lines" is the number of damaged lines in the log. With --stats:
//
//   {"schema":1,"stats":{"jobs":2,"by_state":{"FAILED":1,...},"by_class":{"oom":1,...},"tasks":8,"restarts":0,
//    "mean_ms":1200,"longest_ms":1900,"longest_job":"local-..."},"skipped_lines":0}
//
// With --reindex: {"schema":1,"from_folders":12,"jobs":15,"left_out":0}
#include "runtime/cli/history_list.h"

#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <utility>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/base/time.h"
#include "runtime/cli/options.h"
#include "runtime/cli/output.h"
#include "runtime/cli/terminal.h"
#include "runtime/cli/text_table.h"
#include "runtime/client/job_access.h"
#include "runtime/history/ended_log.h"
#include "runtime/job/json_fields.h"
#include "runtime/records/local_job_store.h"
#include "runtime/records/user_home.h"

namespace tony {
namespace {

// Calls `visit` with the last line of each job. If the log cannot be read, the error is printed and `visit` is not
// called.
template <class Visit>
void VisitLog(const std::filesystem::path& home, Visit visit) {
  const auto log = EndedLog(home).Read();
  if (!log.ok()) return Say(StrCat("tony: ", log.error().message));
  ForEachEnded(log->text(), [&](const EndedLine& line) {
    visit(line);
    return true;
  });
}

namespace json = boost::json;
namespace fs = std::filesystem;

constexpr int64_t kUsualJobs = 50;
constexpr const char* kOfTheList[] = {"state", "class", "name",  "user",  "request-id",
                                      "since", "until", "limit", "stats", "reindex"};
constexpr const char* kOfAJob[] = {"events", "export", "conf"};

Result<EndedFilter> ReadFilter(const CommandLine& line, Instant now) {
  EndedFilter filter;
  if (line.Has("state")) {
    filter.state = FromName<FinalState>(line.Value("state"));
    if (!filter.state) return RefusedOption(line, "state", "SUCCEEDED, FAILED or KILLED");
  }
  if (line.Has("class")) {
    filter.cls = FromName<OutcomeClass>(line.Value("class"));
    if (!filter.cls) return RefusedOption(line, "class", "an outcome class, e.g. oom or user_error");
  }
  if (line.Has("name")) filter.name = line.Value("name");
  if (line.Has("user")) filter.user = line.Value("user");
  TRY_ASSIGN(const RequestId request, RequestIdOption(line));
  if (!request.value.empty()) filter.request = request.value;
  TRY_ASSIGN(filter.since, TimeOption(line, "since", now));
  TRY_ASSIGN(filter.until, TimeOption(line, "until", now));
  return filter;
}

bool HasFolder(const fs::path& home, const EndedJob& job) {
  return access((home / "jobs" / job.job.value).c_str(), F_OK) == 0;
}

std::string DayAndTime(Instant time) {
  std::string text = ToIso8601(time).substr(0, 19);
  std::ranges::replace(text, 'T', ' ');
  return text;
}

std::string Table(const EndedFound& found, const fs::path& home, const TableRoom& room) {
  if (found.jobs.empty()) return "no jobs\n";
  constexpr size_t kLeastName = 8, kLeastCause = 12;
  TextTable table({TextColumn("ENDED (UTC)", 3), TextColumn("JOB"), TextColumn("STATE"), TextColumn("CLASS", 2),
                   TextColumn("TOOK", 4), TextColumn("TASKS", 6, true), TextColumn("RESTARTS", 7, true),
                   TextColumn("FILES", 8), TextColumn("NAME", 5, false, kLeastName),
                   TextColumn("FIRST CAUSE", 1, false, kLeastCause)});
  for (const EndedJob& job : found.jobs) {
    const std::string state(ToString(job.state));
    const Style style = StyleOfState(state);
    const Style others = style == Style::kGood ? Style::kPlain : style;
    table.Add(
        {DayAndTime(job.ended), SafeLine(job.job.value), StyledText(state, style), ToString(job.cls),
         HumanDuration(job.ended - job.submitted), StrCat(job.tasks), StrCat(job.restarts),
         HasFolder(home, job) ? "kept" : "removed", SafeLine(job.name), job.cause.empty() ? "-" : SafeLine(job.cause)},
        others);
  }
  return table.Text(room);
}

std::string JobJson(const EndedJob& job, const fs::path& home) {
  std::string request;
  if (!job.request.value.empty())
    request = StrCat(R"(,"request_id":)", JsonString(job.request.value), R"(,"submission":)", job.number);
  return StrCat(R"({"job":)", JsonString(job.job.value), R"(,"name":)", JsonString(job.name), R"(,"user":)",
                JsonString(job.user), R"(,"framework":)", JsonString(job.framework), R"(,"state":")",
                ToString(job.state), R"(","class":")", ToString(job.cls), "\"", request, R"(,"submitted":")",
                ToIso8601(job.submitted), R"(","ended":")", ToIso8601(job.ended), R"(","tasks":)", job.tasks,
                R"(,"restarts":)", job.restarts, R"(,"message":)", JsonString(job.cause), R"(,"folder":)",
                HasFolder(home, job) ? "true" : "false", "}");
}

std::string Document(const EndedFound& found, const fs::path& home) {
  std::vector<std::string> jobs;
  for (const EndedJob& job : found.jobs) jobs.push_back(JobJson(job, home));
  return StrCat(R"({"schema":1,"jobs":[)", Join(jobs, ","), R"(],"matched":)", jobs.size(), R"(,"complete":)",
                found.complete ? "true" : "false", R"(,"skipped_lines":)", found.skipped, "}");
}

json::object Counts(const std::map<std::string, int64_t, std::less<>>& counts) {
  json::object out;
  for (const auto& [name, count] : counts) out[name] = count;
  return out;
}

std::string StatsDocument(const EndedStats& stats) {
  json::object out;
  out["jobs"] = stats.jobs;
  out["by_state"] = Counts(stats.by_state);
  out["by_class"] = Counts(stats.by_class);
  out["tasks"] = stats.tasks;
  out["restarts"] = stats.restarts;
  if (stats.jobs > 0) {
    out["mean_ms"] = stats.mean.count();
    out["longest_ms"] = stats.longest.count();
    out["longest_job"] = stats.longest_job;
  }
  return SerializeJson(json::object{{"schema", 1}, {"stats", std::move(out)}, {"skipped_lines", stats.skipped}});
}

std::string StatsText(const EndedStats& stats) {
  std::string text = StrCat(stats.jobs, " jobs, ", stats.tasks, " tasks, ", stats.restarts, " restarts\n");
  for (const auto* counts : {&stats.by_state, &stats.by_class}) {
    for (const auto& [name, count] : *counts) text += StrCat("  ", FitToWidth(name, 14), count, "\n");
  }
  if (stats.jobs == 0) return text;
  return StrCat(text, "  took ", HumanDuration(stats.mean), " on average; the longest, ", SafeLine(stats.longest_job),
                ", took ", HumanDuration(stats.longest), "\n");
}

void SaySkipped(size_t skipped) {
  if (skipped > 0)
    Say(StrCat("tony: ", skipped,
               " lines of the log of ended jobs are damaged; \"tony history --reindex\" repairs the log"));
}

Result<int> PrintReindexed(const fs::path& home, bool as_json) {
  TRY_ASSIGN(const Reindexed done, ReindexEndedJobs(home));
  if (as_json) {
    PrintLine(StrCat(R"({"schema":1,"from_folders":)", done.from_folders, R"(,"jobs":)", done.jobs, R"(,"left_out":)",
                     done.left_out, "}"));
  } else {
    Print(StrCat("the list has ", done.jobs, " ended jobs; ", done.from_folders,
                 " of them were read from the jobs' folders\n"));
  }
  return 0;
}

}  // namespace

// The folders are read before the log is locked, so that no keeper (the supervisor of one job) waits for the lock when
// its job ends.
Result<Reindexed> ReindexEndedJobs(const std::filesystem::path& home) {
  TRY_ASSIGN(const std::vector<JobRecords> jobs, LocalJobStore(home).List());
  Reindexed done;
  std::vector<EndedJob> ended;
  for (const JobRecords& records : jobs) {
    const auto status = StoredStatus(records);
    if (!status.ok()) {
      ++done.left_out;
      Say(StrCat("tony: job ", records.job().value, " is not listed: ", status.error().message));
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

Status CheckHistoryOptions(const CommandLine& line) {
  const bool has_job = !line.words().empty();
  for (const char* option : kOfTheList)
    if (has_job && line.Has(option))
      return Error{ErrorCode::kUsage,
                   StrCat(Dashed(option), " is for the list of jobs, and cannot be used with a JOB")};
  for (const char* option : kOfAJob)
    if (!has_job && line.Has(option)) return Error{ErrorCode::kUsage, StrCat(Dashed(option), " needs a JOB")};
  return Ok();
}

Result<int> ListHistory(const CommandLine& line) {
  TRY_ASSIGN(const EndedFilter filter, ReadFilter(line, RealClock().Now()));
  TRY_ASSIGN(const auto limit, NumberOption(line, "limit"));
  TRY_ASSIGN(const fs::path home, TonyHome());
  TRY_ASSIGN(const TableRoom room, RoomOnStandardOutput(line));
  const bool as_json = line.Has("json");
  if (line.Has("reindex")) return PrintReindexed(home, as_json);
  TRY_ASSIGN(const EndedText log, EndedLog(home).Read());
  if (line.Has("stats")) {
    const EndedStats stats = StatsOfEnded(log.text(), filter);
    as_json ? PrintLine(StatsDocument(stats)) : Print(StatsText(stats));
    SaySkipped(stats.skipped);
    SuggestNext(line, {"history --state FAILED"});
    return 0;
  }
  const int64_t most = limit.value_or(kUsualJobs);
  const EndedFound found = FindEnded(log.text(), filter, most == 0 ? SIZE_MAX : static_cast<size_t>(most));
  as_json ? PrintLine(Document(found, home)) : PrintAsIs(Table(found, home, room));
  SaySkipped(found.skipped);
  if (!found.complete && !as_json) Say(StrCat("tony: more than ", most, " jobs match; --limit 0 shows all"));
  if (!found.jobs.empty()) SuggestNext(line, {"history JOB", "history --stats"});
  return 0;
}

}  // namespace tony
