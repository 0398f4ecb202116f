// When the job is over, and how it ended: a pure rule over roles and the outcomes of their tasks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/job/job_spec.h"
#include "runtime/job/outcome.h"

namespace tony::am {

struct EndedTask {
  AttemptId attempt;
  std::string host;
  const Outcome* outcome;
};

// The verdict that `last` brings about, or nothing if the job goes on. `succeeded_tracked`: how many tracked tasks
// have succeeded, `last` included.
//   tracked    a failure fails the job at once: the others would wait for it in a collective, and could not save it;
//              the last success succeeds it
//   untracked  a failure fails the job; success changes nothing
//   sidecar    never matters
std::optional<Verdict> JudgeEnd(const JobSpec& spec, const EndedTask& last, int succeeded_tracked);

// The same while the gang has not formed yet: any end fails the job, because the barrier would never open.
Verdict JudgeEarlyEnd(const EndedTask& last);

// The verdict that a task's failure alone explains.
Verdict FailedBy(const EndedTask& task);

// "worker:1 failed on 127.0.0.1: exit code 3 (user_error)".
std::string DescribeFailure(const EndedTask& task);

}  // namespace tony::am
