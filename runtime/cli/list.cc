// `tony list`: jobs by what their folders say, so that many are listed at once; status asks the AMs. Of those that have
// ended only the newest are read: `tony history` is for the others. With --json:
//
//   {"schema":1,"jobs":[...],"left_out":0}    jobs as in status.json, "unruled" as in `tony status` for those that have
//                                             not ended; "left_out" have ended and are beyond the limit
//
// A job that cannot be read hides none of the others, but the exit code is its own: 69 if the disk fails, 77 if it is
// somebody else's, 65 if its files are damaged.
#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/base/time.h"
#include "runtime/cli/command_line.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/options.h"
#include "runtime/cli/output.h"
#include "runtime/cli/progress.h"
#include "runtime/cli/terminal.h"
#include "runtime/cli/text_table.h"
#include "runtime/client/choose_backend.h"
#include "runtime/client/job_access.h"
#include "runtime/job/job_status.h"
#include "runtime/job/json_fields.h"

namespace tony {
namespace {

// `tony list --queue`: all jobs that a scheduler has or lets wait, whosever they are, in the order of their turns.

namespace json = boost::json;

constexpr size_t kLeastName = 8, kLeastWhy = 12;  // columns

std::string Numbers(const std::vector<int>& numbers) {
  std::vector<std::string> texts;
  for (const int number : numbers) texts.push_back(StrCat(number));
  return Join(texts, ",");
}

std::string_view State(const QueuedJob& job) { return job.runs ? "running" : "waiting"; }

std::string ProcessCell(const QueuedJob& job) { return job.process > 0 ? StrCat(job.process) : std::string("-"); }

// Which GPUs a job has, or how many it asks for.
std::string GpuCell(const QueuedJob& job) {
  return job.held_gpus.empty() ? StrCat(job.gpus) : StrCat(job.gpus, " (", Numbers(job.held_gpus), ")");
}

std::string Percent(double share) { return StrCat(static_cast<int64_t>(share * 100 + 0.5), " %"); }

std::string_view State(const QueueShare& queue) {
  return !queue.takes_jobs ? "-" : queue.is_open ? "open" : "closed to you";
}

// A cluster's queues, and the jobs in them.
std::string ClusterTable(const QueueView& cluster, Instant now, const TableRoom& room) {
  std::string text = Fitted(StrCat("cluster ", SafeLine(cluster.place), ": ", cluster.free_memory_mb, " of ",
                                   cluster.memory_mb, " MB of memory and ", cluster.free_cores, " of ", cluster.cores,
                                   " vcores are free on ", Counted(cluster.nodes, "node"), "\n"),
                            room);
  TextTable queues({{"QUEUE", 0, false, kLeastName},
                    {"STATE", 2},
                    {"SHARE", 4, true},
                    {"MOST", 4, true},
                    {"USED", 3, true},
                    {"RUNNING", 1, true},
                    {"WAITING", 1, true}});
  for (const QueueShare& queue : cluster.queues) {
    queues.Add({SafeLine(queue.name), std::string(State(queue)), Percent(queue.guaranteed), Percent(queue.most),
                Percent(queue.used), StrCat(queue.running), StrCat(queue.waiting)});
  }
  text += queues.Text(room);
  if (cluster.jobs.empty()) return text + "no jobs\n";
  TextTable jobs({{"POS", 0, true},
                  {"JOB"},
                  {"USER", 2, false, kLeastName},
                  {"QUEUE", 3, false, kLeastName},
                  {"STATE"},
                  {"SINCE", 4},
                  {"MEMORY", 5, true},
                  {"CORES", 6, true},
                  {"GPUS", 6, true},
                  {"WHY", 1, false, kLeastWhy}});
  int64_t position = 0;
  for (const QueuedJob& job : cluster.jobs) {
    jobs.Add({StrCat(++position), job.job.value, SafeLine(job.user), SafeLine(job.queue), std::string(State(job)),
              HumanDuration(now - job.since), StrCat(job.memory_mb, " MB"), StrCat(job.vcores), StrCat(job.gpus),
              job.runs ? "-" : SafeLine(job.why)});
  }
  return text + jobs.Text(room);
}

std::string Table(const QueueView& queue, Instant now, const TableRoom& room) {
  std::string text = Fitted(StrCat(queue.free_memory_mb, " of ", queue.memory_mb, " MB of memory and ",
                                   queue.free_gpus.size(), " of ", queue.gpus.size(), " GPUs are free\n"),
                            room);
  if (queue.jobs.empty()) return text + "no jobs\n";
  TextTable jobs({{"POS", 0, true},
                  {"JOB"},
                  {"USER", 2, false, kLeastName},
                  {"PROCESS", 6, true},
                  {"STATE"},
                  {"SINCE", 3},
                  {"MEMORY", 4, true},
                  {"CORES", 5, true},
                  {"GPUS", 5},
                  {"WHY", 1, false, kLeastWhy}});
  int64_t position = 0;
  for (const QueuedJob& job : queue.jobs) {
    jobs.Add({StrCat(++position), job.job.value, SafeLine(job.user), ProcessCell(job), std::string(State(job)),
              HumanDuration(now - job.since), StrCat(job.memory_mb, " MB"), StrCat(job.vcores), GpuCell(job),
              job.runs ? "-" : SafeLine(job.why)});
  }
  return text + jobs.Text(room);
}

json::array ToJson(const std::vector<int>& numbers) { return json::array(numbers.begin(), numbers.end()); }

json::array JobsJson(const std::vector<QueuedJob>& queued) {
  json::array jobs;
  for (const QueuedJob& job : queued) {
    const std::string_view state = State(job);
    jobs.push_back(json::object{{"position", jobs.size() + 1},
                                {"job", job.job.value},
                                {"user", job.user},
                                {"process", job.process},
                                {"state", json::string_view(state.data(), state.size())},
                                {"priority", job.priority},
                                {"memory_mb", job.memory_mb},
                                {"vcores", job.vcores},
                                {"gpus", job.gpus},
                                {"held_gpus", ToJson(job.held_gpus)},
                                {"since", ToIso8601(job.since)},
                                {"why", job.why}});
  }
  return jobs;
}

json::object ClusterJson(const QueueView& cluster) {
  json::array queues, jobs;
  for (const QueueShare& queue : cluster.queues) {
    queues.push_back(json::object{{"name", queue.name},
                                  {"takes_jobs", queue.takes_jobs},
                                  {"open", queue.is_open},
                                  {"share", queue.guaranteed},
                                  {"most", queue.most},
                                  {"used", queue.used},
                                  {"running", queue.running},
                                  {"waiting", queue.waiting}});
  }
  for (const QueuedJob& job : cluster.jobs) {
    const std::string_view state = State(job);
    jobs.push_back(json::object{{"position", jobs.size() + 1},
                                {"job", job.job.value},
                                {"user", job.user},
                                {"queue", job.queue},
                                {"state", json::string_view(state.data(), state.size())},
                                {"priority", job.priority},
                                {"memory_mb", job.memory_mb},
                                {"vcores", job.vcores},
                                {"gpus", job.gpus},
                                {"since", ToIso8601(job.since)},
                                {"why", job.why}});
  }
  return {{"resourcemanager", cluster.place},
          {"nodes", cluster.nodes},
          {"memory_mb", cluster.memory_mb},
          {"free_memory_mb", cluster.free_memory_mb},
          {"vcores", cluster.cores},
          {"free_vcores", cluster.free_cores},
          {"queues", queues},
          {"jobs", jobs}};
}

std::string ToJson(const QueueView& queue, const std::vector<QueueView>& clusters) {
  const json::object machine = {{"memory_mb", queue.memory_mb}, {"cores", queue.cores}, {"gpus", ToJson(queue.gpus)}};
  const json::object free = {{"memory_mb", queue.free_memory_mb}, {"gpus", ToJson(queue.free_gpus)}};
  json::array doubts, blockers, warnings;
  for (const DoubtedJob& doubted : queue.doubted)
    doubts.push_back(json::object{{"file", doubted.file}, {"user", doubted.user}, {"why", doubted.why}});
  for (const QueueBlocker& blocker : queue.blockers)
    blockers.push_back(json::object{{"process", blocker.process}, {"user", blocker.user}, {"name", blocker.name}});
  for (const std::string& warning : queue.warnings) warnings.emplace_back(warning);
  json::array others;
  for (const QueueView& cluster : clusters) others.push_back(ClusterJson(cluster));
  return SerializeJson(json::object{{"schema", 1},
                                    {"clusters", others},
                                    {"ledger", queue.place},
                                    {"private", queue.is_private},
                                    {"machine", machine},
                                    {"free", free},
                                    {"jobs", JobsJson(queue.jobs)},
                                    {"dead", queue.dead},
                                    {"not_believed", doubts},
                                    {"lock_holders", blockers},
                                    {"warnings", warnings}});
}

Result<int> RunQueue(const CommandLine& line) {
  TRY_ASSIGN(const TableRoom room, RoomOnStandardOutput(line));
  std::vector<QueueView> views;  // this machine's first
  const auto add = [&](const Backend& backend) -> Status {
    TRY_ASSIGN(QueueView view, backend.operations().Queue());
    views.push_back(std::move(view));
    return Ok();
  };
  TRY_ASSIGN(const auto failure, VisitConfigured(add));
  const QueueView& machine = views.front();
  const std::vector<QueueView> clusters(views.begin() + 1, views.end());
  if (line.Has("json")) {
    const std::string document = ToJson(machine, clusters);
    if (failure) return FailWith(*failure, document);
    PrintLine(document);
    return 0;
  }
  for (const std::string& warning : machine.warnings) Say(StrCat("tony: warning: ", warning));
  const Instant now = RealClock().Now();
  PrintAsIs(Table(machine, now, room));
  for (const QueueView& cluster : clusters) PrintAsIs(ClusterTable(cluster, now, room));
  if (failure) return *failure;
  return 0;
}

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
  constexpr size_t kLeastNews = 10;
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
