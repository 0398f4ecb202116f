// `tony list`: all jobs by what their folders say, so that many are listed at once; status asks the AMs.
#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/client/commands.h"
#include "runtime/client/output.h"
#include "runtime/client/progress.h"
#include "runtime/store/job_store.h"

namespace tony {
namespace {

std::string Cell(std::string text, size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text + "  ";
}

std::string Table(const std::vector<JobStatus>& jobs, Instant now) {
  std::string table = StrCat(Cell("JOB", 28), Cell("STATE", 10), Cell("AGE", 12), Cell("NAME", 16), "VERDICT\n");
  for (const JobStatus& job : jobs) {
    table += StrCat(Cell(job.job.value, 28), Cell(job.state, 10), Cell(HumanDuration(now - job.submitted), 12),
                    Cell(job.name, 16), HasEnded(job) ? VerdictLine(job) : "-", "\n");
  }
  return table;
}

}  // namespace

Result<int> RunList(const CommandLine& line) {
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
