// `tony list`: lists jobs from their folders without queries to their AMs, so that many jobs are listed at once. Only
// the newest ended jobs are read; `tony history` lists the others. With --json:
//
//   {"schema":1,"jobs":[...],"left_out":0}
//
// Each job has the fields of status.json. A job that has not ended also has "unruled", as in `tony status`. "left_out"
// is the number of ended jobs beyond the limit.
//
// A job that cannot be read does not hide the others, but decides the exit code: 69 if the disk fails, 77 if the job
// belongs to another user, 65 if its files are damaged.
#include <algorithm>
#include <boost/json/value.hpp>
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

void Fields(auto& io, Is<DoubtedJob> auto& doubted) {
  io.Field("file", doubted.file);
  io.Field("user", doubted.user);
  io.Field("why", doubted.why);
}

void Fields(auto& io, Is<QueueBlocker> auto& blocker) {
  io.Field("process", blocker.process);
  io.Field("user", blocker.user);
  io.Field("name", blocker.name);
}

namespace {

// `tony list --queue`: lists the jobs of all users that a scheduler runs or keeps waiting, in queue order.

constexpr size_t kLeastName = 8, kLeastWhy = 12;  // minimum column widths
constexpr int kNever = TextColumn::kNever;

std::string_view State(const QueuedJob& job) { return job.runs ? "running" : "waiting"; }

// Returns the number of GPUs that the job requested, followed by the indexes of the GPUs that it holds.
std::string GpuCell(const QueuedJob& job) {
  std::vector<std::string> held;
  for (const int gpu : job.held_gpus) held.push_back(StrCat(gpu));
  return held.empty() ? StrCat(job.gpus) : StrCat(job.gpus, " (", Join(held, ","), ")");
}

std::string Percent(double share) { return StrCat(static_cast<int64_t>(share * 100 + 0.5), " %"); }

std::string QueuesTable(const QueueView& cluster, const TableRoom& room) {
  TextTable queues({TextColumn("QUEUE", 0, false, kLeastName), TextColumn("STATE", 2), TextColumn("SHARE", 4, true),
                    TextColumn("MOST", 4, true), TextColumn("USED", 3, true), TextColumn("RUNNING", 1, true),
                    TextColumn("WAITING", 1, true)});
  for (const QueueShare& queue : cluster.queues) {
    const char* const state = !queue.takes_jobs ? "-" : queue.is_open ? "open" : "not open to you";
    queues.Add({SafeLine(queue.name), state, Percent(queue.guaranteed), Percent(queue.most), Percent(queue.used),
                StrCat(queue.running), StrCat(queue.waiting)});
  }
  return queues.Text(room);
}

// Returns the table of jobs. A job on this machine has a process and numbered GPUs; a job on a cluster has a queue.
std::string JobsTable(const QueueView& view, bool is_cluster, Instant now, const TableRoom& room) {
  if (view.jobs.empty()) return "no jobs\n";
  TextTable jobs({TextColumn("POS", 0, true), TextColumn("JOB"), TextColumn("USER", 2, false, kLeastName),
                  TextColumn("PROCESS", is_cluster ? kNever : 7, true),
                  TextColumn("QUEUE", is_cluster ? 3 : kNever, false, kLeastName), TextColumn("STATE"),
                  TextColumn("SINCE", 4), TextColumn("MEMORY", 5, true), TextColumn("CORES", 6, true),
                  TextColumn("GPUS", 6, is_cluster), TextColumn("WHY", 1, false, kLeastWhy)});
  int64_t position = 0;
  for (const QueuedJob& job : view.jobs) {
    jobs.Add({StrCat(++position), job.job.value, SafeLine(job.user), job.process > 0 ? StrCat(job.process) : "-",
              SafeLine(job.queue), State(job), HumanDuration(now - job.since), StrCat(job.memory_mb, " MB"),
              StrCat(job.vcores), GpuCell(job), job.runs ? "-" : SafeLine(job.why)});
  }
  return jobs.Text(room);
}

std::string ClusterText(const QueueView& cluster, Instant now, const TableRoom& room) {
  const std::string free = StrCat("cluster ", SafeLine(cluster.place), ": ", cluster.free_memory_mb, " of ",
                                  cluster.memory_mb, " MB of memory and ", cluster.free_cores, " of ", cluster.cores,
                                  " vcores are free on ", Counted(cluster.nodes, "node"), "\n");
  return Fitted(free, room) + QueuesTable(cluster, room) + JobsTable(cluster, /*is_cluster=*/true, now, room);
}

std::string MachineText(const QueueView& machine, Instant now, const TableRoom& room) {
  const std::string free = StrCat(machine.free_memory_mb, " of ", machine.memory_mb, " MB of memory and ",
                                  machine.free_gpus.size(), " of ", machine.gpus.size(), " GPUs are free\n");
  return Fitted(free, room) + JobsTable(machine, /*is_cluster=*/false, now, room);
}

// Returns the number as JSON, in the format of Boost.JSON.
RawJson Number(double value) { return {SerializeJson(value)}; }

std::vector<RawJson> JobsJson(const QueueView& view, bool is_cluster) {
  std::vector<RawJson> jobs;
  for (const QueuedJob& job : view.jobs) {
    jobs.push_back({WriteJsonObject([&](JsonWriter& io) {
      io.Field("position", jobs.size() + 1);
      io.Field("job", job.job);
      io.Field("user", job.user);
      is_cluster ? io.Field("queue", job.queue) : io.Field("process", job.process);
      io.Field("state", State(job));
      io.Field("priority", job.priority);
      io.Field("memory_mb", job.memory_mb);
      io.Field("vcores", job.vcores);
      io.Field("gpus", job.gpus);
      if (!is_cluster) io.Field("held_gpus", job.held_gpus);
      io.Field("since", job.since, kIso);
      io.Field("why", job.why);
    })});
  }
  return jobs;
}

RawJson ClusterJson(const QueueView& cluster) {
  std::vector<RawJson> queues;
  for (const QueueShare& queue : cluster.queues) {
    queues.push_back({WriteJsonObject([&](JsonWriter& io) {
      io.Field("name", queue.name);
      io.Field("takes_jobs", queue.takes_jobs);
      io.Field("open", queue.is_open);
      io.Field("share", Number(queue.guaranteed));
      io.Field("most", Number(queue.most));
      io.Field("used", Number(queue.used));
      io.Field("running", queue.running);
      io.Field("waiting", queue.waiting);
    })});
  }
  return {WriteJsonObject([&](JsonWriter& io) {
    io.Field("resourcemanager", cluster.place);
    io.Field("nodes", cluster.nodes);
    io.Field("memory_mb", cluster.memory_mb);
    io.Field("free_memory_mb", cluster.free_memory_mb);
    io.Field("vcores", cluster.cores);
    io.Field("free_vcores", cluster.free_cores);
    io.Field("queues", queues);
    io.Field("jobs", JobsJson(cluster, /*is_cluster=*/true));
  })};
}

std::string ToJson(const QueueView& queue, const std::vector<QueueView>& clusters) {
  std::vector<RawJson> others;
  for (const QueueView& cluster : clusters) others.push_back(ClusterJson(cluster));
  return WriteJsonObject([&](JsonWriter& io) {
    Schema(io, 1);
    io.Field("clusters", others);
    io.Field("ledger", queue.place);
    io.Field("private", queue.is_private);
    io.Object("machine", [&](JsonWriter& machine) {
      machine.Field("memory_mb", queue.memory_mb);
      machine.Field("cores", queue.cores);
      machine.Field("gpus", queue.gpus);
    });
    io.Object("free", [&](JsonWriter& free) {
      free.Field("memory_mb", queue.free_memory_mb);
      free.Field("gpus", queue.free_gpus);
    });
    io.Field("jobs", JobsJson(queue, /*is_cluster=*/false));
    io.Field("dead", queue.dead);
    io.Field("not_believed", queue.doubted);
    io.Field("lock_holders", queue.blockers);
    io.Field("warnings", queue.warnings);
  });
}

Result<int> RunQueue(const CommandLine& line) {
  TRY_ASSIGN(const TableRoom room, RoomOnStandardOutput(line));
  std::vector<QueueView> views;  // this machine's view comes first
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
  PrintAsIs(MachineText(machine, now, room));
  for (const QueueView& cluster : clusters) PrintAsIs(ClusterText(cluster, now, room));
  if (failure) return *failure;
  return 0;
}

constexpr int64_t kDefaultLimit = 100;

struct ListedJob {
  JobStatus status;
  bool unruled = false;
};

// Returns true if the job possibly waits in a queue: it has a pending reason, or it does not run yet. A job that does
// not run yet may have a reason that is not recorded yet.
bool MayWait(const ListedJob& listed) {
  return !HasEnded(listed.status) && (!listed.status.delay.empty() || listed.status.state != "RUNNING");
}

void AddRow(const ListedJob& listed, const std::string& turn, Instant now, TextTable& table) {
  const JobStatus& job = listed.status;
  const TaskStatus together = TotalUsage(job);
  const std::string state = listed.unruled ? "unruled" : job.state;
  const std::string news = listed.unruled
                               ? StrCat("no application master is running; tony wait ", job.job.value, " starts one")
                               : NewsLine(job);
  const Style style = StyleOfState(state);
  // The other cells get a colour only in a row that needs a person's attention.
  const Style others = style == Style::kGood ? Style::kPlain : style;
  table.Add(
      {job.job.value, StyledText(state, style), turn, HumanDuration(now - job.submitted), StrCat(job.restart_count),
       MemoryOfLimit(together, 0), CpuText(together), SafeLine(job.name), SafeLine(news)},
      others);
}

// Returns the queue position of each waiting job by job id, e.g. "2 of 5". The position counts the jobs that wait for
// the same machine or cluster.
std::map<std::string, std::string> QueuePositions(const std::vector<ListedJob>& jobs) {
  std::map<std::string, std::string> turns;
  // Schedulers are queried for queue positions only if a job may wait.
  if (!std::ranges::any_of(jobs, MayWait)) return turns;
  const auto add = [&](const Backend& backend) -> Status {
    TRY_ASSIGN(const QueueView view, backend.operations().Queue());
    const auto waiting = std::ranges::count(view.jobs, false, &QueuedJob::runs);
    int64_t position = 0;
    for (const QueuedJob& job : view.jobs)
      if (!job.runs) turns[job.job.value] = StrCat(++position, " of ", waiting);
    return Ok();
  };
  // If a scheduler cannot report the positions, the table shows the other columns.
  (void)VisitConfigured(add);
  return turns;
}

std::string Table(const std::vector<ListedJob>& jobs, Instant now, const TableRoom& room) {
  constexpr size_t kLeastNews = 10;
  const auto turns = QueuePositions(jobs);
  TextTable table({TextColumn("JOB"), TextColumn("STATE"), TextColumn("QUEUE", turns.empty() ? kNever : 1),
                   TextColumn("AGE", 2), TextColumn("RESTARTS", 7, true), TextColumn("MEMORY", 5, true),
                   TextColumn("CPU", 6, true), TextColumn("NAME", 4, false, kLeastName),
                   TextColumn("NEWS", 3, false, kLeastNews)});
  for (const ListedJob& job : jobs) {
    const auto turn = turns.find(job.status.job.value);
    AddRow(job, turn != turns.end() && MayWait(job) ? turn->second : "-", now, table);
  }
  return table.Text(room);
}

struct Listing {
  std::vector<ListedJob> jobs;
  size_t left_out = 0;
  std::optional<Error> failure;  // set if a job was unreadable
};

Status AddJobs(const JobStore& jobs, size_t most_finished, Listing& listing) {
  TRY_ASSIGN(const auto chosen, jobs.ListNewest(most_finished));
  listing.left_out += chosen.left_out;
  size_t unread = 0;
  for (const JobRecords& records : chosen.jobs) {
    Result<JobStatus> status = StoredStatus(records);
    const auto found = status.ok() ? Result<JobRecords>(records) : jobs.Find(records.job());
    // The job may have been created while the list was read, so its status is read again.
    if (!status.ok() && found.ok()) status = StoredStatus(records);
    if (status.ok()) {
      const ArbiterView seen = HasEnded(*status) ? ArbiterView() : BackendOf(records.job()).arbiter().Look(records);
      if (status->delay.empty()) status->delay = seen.waits;
      const bool unruled = !HasEnded(*status) && !seen.HasLiveProcess();
      listing.jobs.push_back({*std::move(status), unruled});
    } else if (found.ok() || found.error().code != ErrorCode::kNotFound) {
      Say(StrCat("tony: job ", records.job().value, " is not listed: ", status.error().message));
      // The job exists. If a file of the job is missing, the job counts as damaged.
      const bool lacks_file = status.error().code == ErrorCode::kNotFound;
      const ErrorCode its = lacks_file ? ErrorCode::kInvalid : status.error().code;
      const ErrorCode code = listing.failure ? listing.failure->code : its;
      listing.failure = Error{code, StrCat(++unread, " of ", chosen.jobs.size(), " jobs could not be read")};
    }  // else: the job was removed
  }
  return Ok();
}

Result<Listing> ListJobs(size_t most_finished) {
  Listing listing;
  const auto add = [&](const Backend& backend) -> Status {
    TRY_ASSIGN(const auto jobs, backend.Jobs(JobId()));
    return AddJobs(*jobs, most_finished, listing);
  };
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
    std::vector<RawJson> jobs;
    for (const auto& [status, unruled] : listing.jobs)
      jobs.push_back(
          {HasEnded(status) ? ToJson(status) : WithFields(ToJson(status), {{"unruled", unruled ? "true" : "false"}})});
    const std::string document = WriteJsonObject([&](JsonWriter& io) {
      Schema(io, 1);
      io.Field("jobs", jobs);
      io.Field("left_out", listing.left_out);
    });
    if (listing.failure) return FailWith(*listing.failure, document);
    PrintLine(document);
    return 0;
  }
  if (!listing.jobs.empty()) PrintAsIs(Table(listing.jobs, RealClock().Now(), room));
  if (listing.left_out > 0)
    Say(StrCat("tony: ", listing.left_out,
               " older ended jobs are not shown; \"tony history\" or --limit 0 shows them"));
  if (listing.failure) return *listing.failure;
  if (!listing.jobs.empty()) SuggestNext(line, {"status JOB", "logs JOB", "history"});
  if (listing.jobs.empty()) Print("no jobs\n");
  return 0;
}

}  // namespace tony
