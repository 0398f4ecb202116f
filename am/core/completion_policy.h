// When the job is over, and how it ended: a pure rule over roles and the outcomes of their tasks.
//
// Of each role so many successes are enough (`min_succeeded`; 0: each of its tasks ends), and so many failures fail the
// job (RoleSpec::FailsAt). A failure is that of a task which is not restarted. The job has succeeded when every tracked
// role has what it needs. By TonY's rule the chief's failure fails the job as well, and that all tracked tasks failed.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "runtime/job/job_spec.h"
#include "runtime/job/outcome.h"

namespace tony::am {

struct EndedTask {
  AttemptId attempt;
  std::string host;
  const Outcome* outcome;
};

// Of one role: tasks that have ended and are not being restarted.
struct RoleEnds {
  int succeeded = 0;
  int failed = 0;  // and the job goes on without them
};
using Ends = std::map<std::string, RoleEnds, std::less<>>;

RoleEnds EndsOf(const Ends& ends, const RoleSpec& role);

// What is left of the role does not matter any more.
bool HasEnough(const RoleSpec& role, const RoleEnds& ends);

// Roles that the job does not wait for any more.
using LeftRoles = std::set<std::string, std::less<>>;

// Every tracked role has what it needs, or is not waited for.
bool IsComplete(const JobSpec& spec, const Ends& ends, const LeftRoles& left = {});

// The failures before, of which the job was to go on without the tasks; nothing: there were none.
struct EarlierFailures {
  std::optional<EndedTask> first;          // of all
  std::optional<EndedTask> first_of_role;  // of the role that is judged
};

// The verdict that the failure of `last`, which is not restarted, brings about; nothing: the job goes on without it.
// `before`: without `last`.
std::optional<Verdict> JudgeFailure(const JobSpec& spec, const Ends& before, const EarlierFailures& earlier,
                                    const EndedTask& last);

// Of a job that is complete. `first`: of the failures, if there are any.
Verdict SuccessOf(const JobSpec& spec, const Ends& ends, const std::optional<EndedTask>& first,
                  const LeftRoles& left = {});

// The verdict on any end before the gang has formed: the barrier would never open.
Verdict JudgeEarlyEnd(const EndedTask& last);

// The verdict that a task's failure alone explains.
Verdict FailedBy(const EndedTask& task);

// "worker:1 failed on 127.0.0.1: exit code 3 (user_error)".
std::string DescribeFailure(const EndedTask& task);

// "97 of 100 tasks of role worker have succeeded (tony.worker.min-succeeded=97)".
std::string DescribeEnough(const RoleSpec& role, const RoleEnds& ends);

}  // namespace tony::am
