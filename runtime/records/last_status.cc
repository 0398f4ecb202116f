#include "runtime/records/last_status.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace tony {
namespace {

std::string AttemptState(const Outcome& outcome) {
  if (outcome.Succeeded()) return "succeeded";
  if (outcome.cls == OutcomeClass::kKilled) return "killed";
  return outcome.cls == OutcomeClass::kNodeLost ? "lost" : "failed";
}

}  // namespace

Result<JobStatus> InitialStatus(const JobRecords& records) {
  TRY_ASSIGN(const Submission submission, records.ReadSubmission());
  JobStatus status;
  status.job = records.job();
  status.user = submission.user;
  status.state = "ACCEPTED";
  status.submitted = submission.time;
  status.request = submission.request;
  status.number = submission.number;
  status.claim = submission.claim;
  // The fields from the spec stay empty if it cannot be read, because an unreadable spec may be the reason why the job
  // has no AM.
  const auto spec = records.ReadSpec();
  if (!spec.ok()) return status;
  status.name = spec->name;
  status.framework = ToString(spec->framework);
  status.tags = spec->tags;
  for (const auto& role : spec->roles)
    for (int index = 0; index < role.instances; ++index) status.tasks.push_back({TaskId{role.name, index}, "waiting"});
  return status;
}

Result<JobStatus> LastStatus(const JobRecords& records) {
  auto last = records.ReadStatus();
  return last.ok() && *last ? Result<JobStatus>(**std::move(last)) : InitialStatus(records);
}

void EndTask(TaskStatus& task, const Outcome& outcome, Instant now) {
  task.state = "done";
  task.attempt_state = AttemptState(outcome);
  task.outcome = outcome;
  task.ended = now;
  task.pid = 0;
  task.suspect = false;
}

void EndStatus(JobStatus& status, const Verdict& verdict, Instant now) {
  status.state = ToString(verdict.state);
  status.verdict = verdict;
  status.trouble.clear();
  status.ended = std::max(now, status.submitted);
  ++status.seq;
  for (auto& task : status.tasks) {
    if (task.state == "active")
      EndTask(task, {verdict.cls, std::nullopt, "the task ended because its job ended", ""}, *status.ended);
    task.state = "done";
  }
}

}  // namespace tony
