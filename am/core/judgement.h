// Pure functions that decide from the roles and the outcomes of their tasks whether a job is over, and with which
// verdict. Results holds the ends of tasks so far. Job applies the functions to its Results in judgement.cc.
//
// A role is complete when `min_succeeded` of its tasks have succeeded. If `min_succeeded` is 0, each of its tasks has
// to end. The job succeeds when every tracked role is complete. The job fails when RoleSpec::FailureLimit() tasks of a
// role have failed. Only tasks that are not restarted count as failed. As in TonY, the job also fails when its chief
// fails, and when all tracked tasks have failed.
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

// The number of a role's tasks that have ended and are not being restarted.
struct RoleEnds {
  int succeeded = 0;
  int failed = 0;
};
using Ends = std::map<std::string, RoleEnds, std::less<>>;

RoleEnds EndsOf(const Ends& ends, const RoleSpec& role);

// Returns true if the role has its required successes. In that case the outcomes of its other tasks do not matter.
bool HasEnough(const RoleSpec& role, const RoleEnds& ends);

// Roles that the job does not wait for any more, because they ran on for too long.
using LeftRoles = std::set<std::string, std::less<>>;

// Returns true if every tracked role is complete or is in `left`.
bool IsComplete(const JobSpec& spec, const Ends& ends, const LeftRoles& left = {});

// The tolerated failures that came before the failure that is judged now. A member is nullopt if no such failure was
// tolerated.
struct EarlierFailures {
  std::optional<EndedTask> first;          // first failure of any role
  std::optional<EndedTask> first_of_role;  // first failure of the judged role
};

// Returns the verdict that follows from the failure of `last`, which is not restarted; nullopt if the job continues
// without the task. `before` counts the ends without `last`.
std::optional<Verdict> JudgeFailure(const JobSpec& spec, const Ends& before, const EarlierFailures& earlier,
                                    const EndedTask& last);

// Returns the verdict of a complete job. `first` is the first failure, if a task has failed.
Verdict SuccessOf(const JobSpec& spec, const Ends& ends, const std::optional<EndedTask>& first,
                  const LeftRoles& left = {});

// Returns the verdict on a task that ended before the gang has formed. Even a success fails the job then, because the
// barrier would never open.
Verdict JudgeEarlyEnd(const EndedTask& last);

// Returns the verdict for a job that fails because of `task` alone.
Verdict FailedBy(const EndedTask& task);

// Returns a description of the failure, e.g. "worker:1 failed on 127.0.0.1: exit code 3 (user_error)".
std::string DescribeFailure(const EndedTask& task);

// Returns a description of the successes that are enough for the role, e.g. "97 of 100 tasks of role worker have
// succeeded (tony.worker.min-succeeded=97)".
std::string DescribeEnough(const RoleSpec& role, const RoleEnds& ends);

// The ends of tasks so far: counts per role, failures that are not judged yet, and tolerated failures. Part of Job.
class Results {
 public:
  // The number of tasks of each role that have ended and are not being restarted.
  const Ends& ends() const { return ends_; }
  // Failed attempts that are not judged yet: they neither caused a restart nor made the verdict. Ordered by the time of
  // their end.
  const std::set<std::pair<Instant, AttemptId>>& unjudged() const { return unjudged_; }
  bool IsUnjudged(const Attempt& attempt) const { return unjudged_.contains({*attempt.ended, attempt.id}); }
  // The attempts whose failure is tolerated, in the order of the decisions. The job continues without their tasks.
  const std::vector<AttemptId>& tolerated() const { return tolerated_; }
  // True if enough tasks of the role have succeeded, and its other tasks were stopped.
  bool IsFinished(const std::string& role) const { return finished_.contains(role); }
  const LeftRoles& left() const { return left_; }
  // The attempt that ended in this step. Its end must be judged in the same step, because the budgets may be different
  // in later steps. An end in unjudged() is an exception: it may be judged later.
  const std::optional<AttemptId>& newest_end() const { return newest_end_; }
  void ForgetNewestEnd() { newest_end_.reset(); }

  void NoteEnd(const AttemptId& id) { newest_end_ = id; }
  void NoteSuccess(const std::string& role) { ++ends_[role].succeeded; }
  void NoteFailure(const Attempt& attempt) { unjudged_.emplace(*attempt.ended, attempt.id); }
  // Removes the end of the task from the counts, because a restart takes the task over.
  void UncountEnd(Attempt& attempt, TaskState state);
  // Tolerate() returns false if the failure is not waiting to be judged. Finish() and Leave() return false if the role
  // was finished or left before.
  bool Tolerate(Attempt& attempt);
  bool Finish(const std::string& role) { return finished_.insert(role).second; }
  bool Leave(const std::string& role) { return left_.insert(role).second; }

  // Ends the process if the private members contradict each other or the tasks.
  void CheckInvariants(const JobSpec& spec, const Tasks& tasks) const;

 private:
  Ends ends_;
  std::set<std::pair<Instant, AttemptId>> unjudged_;
  std::vector<AttemptId> tolerated_;
  std::set<std::string, std::less<>> finished_;
  LeftRoles left_;
  std::optional<AttemptId> newest_end_;
};

// Returns the ranks that a timed-out collective waited for, as its report names them: "Ranks 1, 3 failed to pass
// monitoredBarrier in 1000 ms" -> {1, 3}. The function also understands NCCL's list of ranks that are behind, and the
// ranks that gloo's and torch's rendezvous wait for. Returns an empty list if the report names no rank.
std::vector<int> SilentRanks(std::string_view text);

// Returns the task whose processes have this rank of torch.distributed; nullopt if the rank does not exist. The ranks
// number the processes of all tracked tasks.
std::optional<TaskId> TaskOfRank(const JobSpec& spec, int rank);

}  // namespace tony::am
