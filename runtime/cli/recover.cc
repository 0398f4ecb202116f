// `tony recover`: restarts the AMs of jobs that run without one, and finalizes jobs that a reboot has ended.
#include <optional>

#include "runtime/base/strings.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/output.h"
#include "runtime/cli/terminal_notes.h"
#include "runtime/client/choose_backend.h"
#include "runtime/client/job_access.h"
#include "runtime/client/watch_job.h"

namespace tony {
namespace {

// The time to wait for a started AM. An AM answers after about 50 ms, or later on a machine that swaps.
constexpr Duration kAnswerLimit{10'000};

struct Recovered {
  JobStatus status;
  std::string_view what;  // "none", "settled", "brought_back"
};

Result<Recovered> ReviveJob(const JobRecords& records) {
  EventLoop loop;
  const auto launcher = BackendOf(records.job()).MakeLauncher(loop);
  Interrupts interrupts(loop);
  WatchOptions options = {.limit = kAnswerLimit};
  options.on_status = [](const JobStatus&) { return false; };
  TRY_ASSIGN(const Watched watched, WatchJob(loop, interrupts, records, *launcher, TerminalNotes(), options));
  if (watched.status) return Recovered{*watched.status, "brought_back"};
  return Error{ErrorCode::kUnavailable,
               StrCat("job ", records.job().value, " was not recovered: its application master does not answer")};
}

Result<Recovered> Recover(const JobRecords& records) {
  TRY(StoredStatus(records));
  const auto written = records.ReadStatus();
  TRY(BackendOf(records.job()).arbiter().Settle(records));
  TRY_ASSIGN(JobStatus status, StoredStatus(records));
  if (HasNoAm(records, status)) return ReviveJob(records);
  const bool settled = HasEnded(status) && !(written.ok() && *written && HasEnded(**written));
  return Recovered{std::move(status), settled ? "settled" : "none"};
}

// Adds the jobs that can be recovered from this machine.
Status AddJobsOf(const Backend& backend, std::vector<JobRecords>& here) {
  TRY_ASSIGN(const auto jobs, backend.Jobs(JobId()));
  TRY_ASSIGN(const std::vector<JobRecords> all, jobs->List());
  for (const JobRecords& records : all) {
    const auto found = jobs->Find(records.job());
    if (found.ok()) here.push_back(*found);
    if (!found.ok() && found.error().code != ErrorCode::kUnavailable) Say(StrCat("tony: ", found.error().message));
  }
  return Ok();
}

std::string Entry(const Recovered& recovered) {
  return StrCat(R"({"job":)", JsonString(recovered.status.job.value), R"(,"state":)",
                JsonString(recovered.status.state), R"(,"recovery":)", JsonString(recovered.what), "}");
}

}  // namespace

Result<int> RunRecover(const CommandLine& line) {
  std::vector<JobRecords> jobs;
  // The error of a cluster that does not answer, or of a job that was not recovered.
  std::optional<Error> failure;
  if (line.words().empty()) {
    TRY_ASSIGN(failure, VisitConfigured([&](const Backend& backend) { return AddJobsOf(backend, jobs); }));
  } else {
    TRY_ASSIGN(JobRecords records, FindNamedJob(line.words().front(), TerminalNotes()));
    jobs.push_back(std::move(records));
  }
  std::vector<std::string> entries, lines;
  for (const JobRecords& records : jobs) {
    const Result<Recovered> recovered = Recover(records);
    if (!recovered.ok()) {
      if (failure) Say(StrCat("tony: ", failure->message));
      failure = recovered.error();
    } else if (recovered->what != "none" || !line.words().empty()) {
      entries.push_back(Entry(*recovered));
      lines.push_back(StrCat(records.job().value, " ", recovered->status.state, " ", recovered->what, "\n"));
    }
  }
  const std::string document = StrCat(R"({"schema":1,"jobs":[)", Join(entries, ","), "]}");
  if (!line.Has("json")) Print(lines.empty() ? "nothing to recover\n" : Join(lines, ""));
  if (failure) return line.Has("json") ? FailWith(*failure, document) : Fail(*failure, false);
  if (line.Has("json")) PrintLine(document);
  return 0;
}

}  // namespace tony
