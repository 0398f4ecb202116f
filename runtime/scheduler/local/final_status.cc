#include "runtime/scheduler/local/final_status.h"

#include <utility>

#include "runtime/base/strings.h"
#include "runtime/store/files.h"

namespace tony::keeper {
namespace {

constexpr size_t kTailBytes = 2000;  // some twenty lines of am.log: what a person reads first

Result<JobStatus> FreshStatus(const JobFolder& folder) {
  TRY_ASSIGN(const Submission submission, folder.ReadSubmission());
  JobStatus status;
  status.job = folder.job();
  status.user = submission.user;
  status.submitted = submission.time;
  const auto spec = folder.ReadSpec();  // one that cannot be read may be why the AM crashes
  if (!spec.ok()) return status;
  status.name = spec->name;
  status.framework = ToString(spec->framework);
  for (const auto& role : spec->roles)
    for (int index = 0; index < role.instances; ++index) status.tasks.push_back({TaskId{role.name, index}, "waiting"});
  return status;
}

std::string TailOf(const std::filesystem::path& path) {
  const auto content = ReadFile(path);
  if (!content.ok()) return {};
  return content->substr(content->size() - std::min(content->size(), kTailBytes));
}

void EndTask(TaskStatus& task, Instant now) {
  if (task.state == "done") return;
  if (task.state == "active") {
    task.attempt_state = "killed";
    task.outcome = Outcome{OutcomeClass::kInfra, std::nullopt, "ended with its job", ""};
    task.ended = now;
  }
  task.state = "done";
  task.pid = 0;
  task.suspect = false;
}

}  // namespace

Result<JobStatus> FailedByInfra(const JobFolder& folder, const std::string& reason, Instant now) {
  auto last = folder.ReadStatus();
  if (last.ok() && *last && (*last)->verdict) return **last;
  JobStatus status;
  if (last.ok() && *last) {
    status = **std::move(last);
  } else {
    TRY_ASSIGN(status, FreshStatus(folder));
  }
  Verdict verdict;
  verdict.state = FinalState::kFailed;
  verdict.cls = OutcomeClass::kInfra;
  verdict.message = reason;
  verdict.stderr_tail = TailOf(folder.path() / "am.log");
  status.state = ToString(verdict.state);
  status.verdict = verdict;
  status.ended = now;
  ++status.seq;
  for (auto& task : status.tasks) EndTask(task, now);
  return status;
}

}  // namespace tony::keeper
