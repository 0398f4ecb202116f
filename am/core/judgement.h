// When the job is over, and how it ended: a pure rule over roles and the outcomes of their tasks; and the ends so far,
// to which Job applies the rule (judgement.cc).
//
// Each role needs a number of successes (`min_succeeded`; 0: each of its tasks ends), and a number of its failures fails
// the job (RoleSpec::FailsAt). Only tasks that are not restarted count as failed. The job succeeds when every tracked
// role has its successes. By TonY's rule the job also fails with the chief, and when all tracked tasks have failed.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "am/core/tasks.h"
#include "runtime/job/job_spec.h"
#include "runtime/job/outcome.h"

namespace tony::am {

struct EndedTask {
  AttemptId attempt;
  std::string host;
  const Outcome* outcome;
};

// The tasks of one role that have ended and are not being restarted.
struct RoleEnds {
  int succeeded = 0;
  int failed = 0;
};
using Ends = std::map<std::string, RoleEnds, std::less<>>;

RoleEnds EndsOf(const Ends& ends, const RoleSpec& role);

// Whether the role has its successes, so that its other tasks do not matter any more.
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

// The ends so far: those that count, failures that are not judged yet, and failures that were tolerated. Part of Job.
class Results {
 public:
  // The tasks of each role that have ended and are not being restarted.
  const Ends& ends() const { return ends_; }
  // Failed attempts that are not judged yet: they neither restart nor made the verdict. By the time of their end.
  const std::set<std::pair<Instant, AttemptId>>& unjudged() const { return unjudged_; }
  bool IsUnjudged(const Attempt& attempt) const { return unjudged_.contains({*attempt.ended, attempt.id}); }
  // Failed attempts without whose tasks the job goes on, in the order of the decisions.
  const std::vector<AttemptId>& tolerated() const { return tolerated_; }
  // Enough of the role has succeeded, and the rest of it was told to stop.
  bool IsFinished(const std::string& role) const { return finished_.contains(role); }
  const LeftRoles& left() const { return left_; }
  // The attempt that ended in this step: only this step judges it, because later ones have other budgets.
  const std::optional<AttemptId>& newest_end() const { return newest_end_; }
  void ForgetNewestEnd() { newest_end_.reset(); }

  void NoteEnd(const AttemptId& id) { newest_end_ = id; }
  void NoteSuccess(const std::string& role) { ++ends_[role].succeeded; }
  void NoteFailure(const Attempt& attempt) { unjudged_.emplace(*attempt.ended, attempt.id); }
  // A restart takes the task over: its end counts no more.
  void TakeBack(Attempt& attempt, TaskState state);
  // False: there is no such failure, or the role is finished or left already.
  bool Tolerate(Attempt& attempt);
  bool Finish(const std::string& role) { return finished_.insert(role).second; }
  bool Leave(const std::string& role) { return left_.insert(role).second; }

  // Ends the process if two of these members contradict each other, or the tasks.
  void CheckInvariants(const JobSpec& spec, const Tasks& tasks) const;

 private:
  Ends ends_;
  std::set<std::pair<Instant, AttemptId>> unjudged_;
  std::vector<AttemptId> tolerated_;
  std::set<std::string, std::less<>> finished_;
  LeftRoles left_;
  std::optional<AttemptId> newest_end_;
};

// The processes that a timed-out collective waited for in vain, as its report names them:
// "Ranks 1, 3 failed to pass monitoredBarrier in 1000 ms" -> {1, 3}. NCCL's list of ranks that are behind, and the
// ranks that gloo's and torch's rendezvous wait for, are understood as well. Empty: it names none.
std::vector<int> SilentRanks(std::string_view text);

// The task whose processes have this rank of torch.distributed, which counts over those of all tracked tasks.
std::optional<TaskId> TaskOfRank(const JobSpec& spec, int rank);

}  // namespace tony::am
