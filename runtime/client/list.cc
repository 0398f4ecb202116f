// `tony list`: all jobs by what their folders say, so that many are listed at once; status asks the AMs.
#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/client/commands.h"
#include "runtime/client/output.h"
#include "runtime/client/progress.h"
#include "runtime/client/queue.h"
#include "runtime/client/task_text.h"
#include "runtime/client/terminal.h"
#include "runtime/store/job_store.h"

namespace tony {
namespace {

std::string Cell(std::string_view text, size_t width) {
  return StrCat(text, std::string(width - std::min(width, TextWidth(text)), ' '), "  ");
}

std::string Table(const std::vector<JobStatus>& jobs, Instant now) {
  std::string table = StrCat(Cell("JOB", 28), Cell("STATE", 10), Cell("AGE", 12), Cell("RESTARTS", 8),
                             Cell("MEMORY", 11), Cell("CPU", 5), Cell("NAME", 16), "NEWS\n");
  for (const JobStatus& job : jobs) {
    const TaskStatus together = UsedTogether(job);
    table += StrCat(Cell(job.job.value, 28), Cell(job.state, 10), Cell(HumanDuration(now - job.submitted), 12),
                    Cell(std::to_string(job.restart_count), 8), Cell(MemoryText(together), 11),
                    Cell(CpuText(together), 5), Cell(SafeLine(job.name), 16), NewsLine(job), "\n");
  }
  return table;
}

}  // namespace

Result<int> RunList(const CommandLine& line) {
  if (line.Has("queue")) return RunQueue(line);
  TRY_ASSIGN(const auto home, TonyHome());
  TRY_ASSIGN(const std::vector<JobFolder> folders, LocalJobStore(home).List());
  std::vector<JobStatus> jobs;
  for (const JobFolder& folder : folders) {
    Result<JobStatus> status = StoredStatus(folder);
    if (status.ok()) {
      jobs.push_back(*std::move(status));
    } else {
      Say(StrCat("tony: job ", folder.job().value, " left out: ", status.error().message));
    }
  }
  if (!line.Has("json")) {
    Print(jobs.empty() ? "no jobs\n" : Table(jobs, RealClock().Now()));
    return 0;
  }
  std::vector<std::string> documents;
  for (const JobStatus& job : jobs) documents.push_back(ToJson(job));
  PrintLine(StrCat(R"({"schema":1,"jobs":[)", Join(documents, ","), "]}"));
  return 0;
}

}  // namespace tony
