// `tony list`: jobs by what their folders say, so that many are listed at once; status asks the AMs. Of those that have
// ended only the newest are read: `tony history` is for the others. With --json:
//
//   {"schema":1,"jobs":[...],"left_out":0}    jobs as in status.json; "left_out" have ended and are beyond the limit
#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/client/commands.h"
#include "runtime/client/numbers.h"
#include "runtime/client/output.h"
#include "runtime/client/progress.h"
#include "runtime/client/queue.h"
#include "runtime/client/terminal.h"
#include "runtime/job/task_text.h"
#include "runtime/store/job_store.h"
#include "runtime/store/user_home.h"

namespace tony {
namespace {

constexpr int64_t kDefaultLimit = 100;

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
  TRY_ASSIGN(const auto limit, NumberOption(line, "limit"));
  const int64_t most = limit.value_or(kDefaultLimit);
  TRY_ASSIGN(const auto home, TonyHome());
  const size_t most_finished = most == 0 ? SIZE_MAX : static_cast<size_t>(most);
  TRY_ASSIGN(const auto chosen, LocalJobStore(home).ListNewest(most_finished));
  std::vector<JobStatus> jobs;
  for (const JobFolder& folder : chosen.folders) {
    Result<JobStatus> status = StoredStatus(folder);
    if (status.ok()) {
      jobs.push_back(*std::move(status));
    } else {
      Say(StrCat("tony: job ", folder.job().value, " left out: ", status.error().message));
    }
  }
  if (!line.Has("json")) {
    Print(jobs.empty() ? "no jobs\n" : Table(jobs, RealClock().Now()));
    if (chosen.left_out > 0)
      Say(StrCat("tony: ", chosen.left_out, " jobs that ended earlier: \"tony history\", or --limit 0"));
    return 0;
  }
  std::vector<std::string> documents;
  for (const JobStatus& job : jobs) documents.push_back(ToJson(job));
  PrintLine(StrCat(R"({"schema":1,"jobs":[)", Join(documents, ","), R"(],"left_out":)", chosen.left_out, "}"));
  return 0;
}

}  // namespace tony
