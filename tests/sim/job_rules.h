// The rules of jobs, written a second time from the manual and not from runtime/ or am/. If you change one of the two,
// change the other.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/job/claim.h"
#include "runtime/job/job_spec.h"
#include "runtime/job/outcome.h"
#include "runtime/records/decisions.h"

namespace tony::sim {

// ---- rules for the restart that must follow a task's failure

struct RestartSeen {
  Instant time;
  RestartScope scope = RestartScope::kTask;
  TaskId cause;
  bool charged = true;
  // The restart gives containers back, and no task has failed.
  bool gives_back = false;
};

struct FailureSeen {
  TaskId task;
  OutcomeClass cls = OutcomeClass::kUserError;
  Advice advice = Advice::kNone;
  // The task belongs to a gang that has formed and is not being restarted.
  bool together = false;
  // The executor lives and can run the next attempt.
  bool same_address = false;
};

struct RestartDue {
  RestartScope scope = RestartScope::kTask;
  bool charged = true;
  Duration delay{0};
};

// Returns the restart that must follow `failure`; nullopt if the task must not start again.
std::optional<RestartDue> RestartAfter(const JobSpec& spec, const FailureSeen& failure,
                                       const std::vector<RestartSeen>& past, Instant now);

// ---- rules for the end of a job

// The ends of tasks that are not being restarted.
struct EndsSeen {
  std::map<std::string, int> good;  // number of successes, by role
  // Failed attempts in the order of their ends; the job continues without them.
  std::vector<AttemptId> bad;
  // Roles for which the job no longer waits.
  std::set<std::string> left;
};

// Returns the attempt that the verdict must name if `failed` is not restarted; nullopt if the job continues.
std::optional<AttemptId> FailureNamed(const JobSpec& spec, const EndsSeen& before, const AttemptId& failed);
// True if failures of the role's tasks have no effect.
bool IsIgnored(const RoleSpec& role);

// True if enough tasks of the role have succeeded.
bool IsSatisfied(const RoleSpec& role, const EndsSeen& ends);
// Returns how many tasks have neither succeeded nor failed.
int LeftOf(const RoleSpec& role, const EndsSeen& ends);
bool IsOver(const JobSpec& spec, const EndsSeen& ends);  // True if the job has succeeded.

// ---- rules for the start of tasks whose roles wait for each other

// Returns the stage of the role. Within a formed gang, a stage starts after all earlier ones have published.
int StageRule(const JobSpec& spec, const std::string& role);
// True if other roles wait for a value of this role.
bool MustPublish(const JobSpec& spec, const std::string& role);
// Returns the name of the only value that the role publishes.
std::string PublishedBy(const JobSpec& spec, const std::string& role);
bool WaitsForReady(const JobSpec& spec, const std::string& role);
// True if `role` names `publisher` itself in its `depends_on`, until ready.
bool IsReadyFor(const JobSpec& spec, const std::string& publisher, const std::string& role);

// ---- roles that must succeed before containers are requested for others

// Returns the roles that must succeed before `role` is requested.
std::set<std::string> PreparersOf(const JobSpec& spec, const std::string& role);
bool Prepares(const JobSpec& spec, const std::string& role);
// Returns the length of the longest chain of such roles before `role`.
int WaveRule(const JobSpec& spec, const std::string& role);

// The rules of ownership and conditional kills, written a second time from the contract and not from am/. They read the
// journal, the requests of engines, and the answers to them.
class AttentionRules {
 public:
  // `skew` is the largest difference between the times of the AM and of engines.
  explicit AttentionRules(Duration skew) : skew_(skew) {}

  void Read(const Decision& decision);
  // Starts again with these decisions because the journal was cut back to them.
  void Reread(const std::vector<Decision>& decisions);
  std::vector<std::string> TakeComplaints() { return std::exchange(complaints_, {}); }

  // ---- events of engines
  void OnKillWritten(const KillRequest& request);
  void OnAttached(const Claim& claim);
  void OnClientSeen(const WatcherToken& watcher);

  // ---- what the AM may do or must do

  // True if a conditional kill request allows a kill at `time`.
  bool MayKill(Instant time) const;
  // True if a planned kill has been due for longer than `by`.
  bool MustHaveKilled(Instant time, Duration by) const;
  // True if a request that is due at once holds and has held since it was written.
  bool HasSteadyRequest() const;
  const Claim& claim() const { return claim_; }

 private:
  struct Asked {
    KillRequest request;
    bool planned = false;
    bool steady = true;
  };
  struct Plan {
    KillRequest request;
    bool lives = true;
  };

  void On(const OwnerChanged& d);
  void On(const WatcherChanged& d);
  void On(const KillPlanned& d);
  void On(const KillVoided& d);
  template <class Other>
  void On(const Other&) {}
  void StateChanged();
  bool Holds(const KillRequest& request) const;

  Duration skew_;
  std::vector<std::string> complaints_;
  Claim claim_;
  WatcherToken watcher_;
  // Owners that the journal noted. A later one may be in the same write.
  std::vector<Claim> claims_;
  std::set<WatcherToken> watchers_;
  std::map<int, Plan> plans_;
  std::vector<Asked> asked_;
};

}  // namespace tony::sim
