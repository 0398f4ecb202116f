// The rules of jobs, written a second time, from the manual and not from runtime/ or am/: if you change one of the two,
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

// ---- What has to follow when a task fails.

struct RestartSeen {
  Instant time;
  RestartScope scope = RestartScope::kTask;
  TaskId cause;
  bool charged = true;
  bool gives_back = false;  // nothing had failed
};

struct FailureSeen {
  TaskId task;
  OutcomeClass cls = OutcomeClass::kUserError;
  Advice advice = Advice::kNone;
  bool together = false;      // it belongs to a gang that had formed, and is not being restarted
  bool same_address = false;  // its executor is there and could go on
};

struct RestartDue {
  RestartScope scope = RestartScope::kTask;
  bool charged = true;
  Duration delay{0};
};

// Nothing: it does not start again.
std::optional<RestartDue> RestartAfter(const JobSpec& spec, const FailureSeen& failure,
                                       const std::vector<RestartSeen>& past, Instant now);

// ---- When a job is over.

// How the tasks stand that are not being restarted.
struct EndsSeen {
  std::map<std::string, int> good;  // by role
  std::vector<AttemptId> bad;       // the job goes on without them, in this order
  std::set<std::string> left;       // roles that are not waited for any more
};

// What has to follow a failure that is not restarted: the job fails, and names this one.
std::optional<AttemptId> FailureNamed(const JobSpec& spec, const EndsSeen& before, const AttemptId& failed);
bool IsIgnored(const RoleSpec& role);  // whether its tasks fail has no meaning at all

bool IsSatisfied(const RoleSpec& role, const EndsSeen& ends);  // enough of it have succeeded
int LeftOf(const RoleSpec& role, const EndsSeen& ends);        // tasks that have neither succeeded nor failed
bool IsOver(const JobSpec& spec, const EndsSeen& ends);        // with success

// ---- When the tasks of a job start whose roles wait for each other.

// For what others publish, once the gang is there.
int StageRule(const JobSpec& spec, const std::string& role);
bool MustPublish(const JobSpec& spec, const std::string& role);         // others wait for it
std::string PublishedBy(const JobSpec& spec, const std::string& role);  // the name of the one value that it has
bool WaitsForReady(const JobSpec& spec, const std::string& role);
bool IsReadyFor(const JobSpec& spec, const std::string& publisher, const std::string& role);  // as ready, directly

// For their success, before anything is asked for.
std::set<std::string> PreparersOf(const JobSpec& spec, const std::string& role);  // those that have to succeed before
bool Prepares(const JobSpec& spec, const std::string& role);
int WaveRule(const JobSpec& spec, const std::string& role);  // how many such waits come one after the other

// Who may have a job ended, said again from the contract and not from am/: read from the journal and from what engines
// asked and were answered.
class AttentionRules {
 public:
  // Times of the AM and of engines may differ by `skew`.
  explicit AttentionRules(Duration skew) : skew_(skew) {}

  void Read(const Decision& decision);
  // The journal was cut back to these decisions.
  void Reread(const std::vector<Decision>& decisions);
  std::vector<std::string> TakeComplaints() { return std::exchange(complaints_, {}); }

  // ---- what engines did
  void OnKillWritten(const KillRequest& request);
  void OnAttached(const Claim& claim);
  void OnClientSeen(const WatcherToken& watcher);

  // ---- what the AM may or must do
  bool MayKill(Instant time) const;                      // for some conditional request
  bool MustHaveKilled(Instant time, Duration by) const;  // a plan has been due for longer
  // A request that is not due later holds, and has held since it was written.
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
  std::vector<Claim> claims_;  // that were noted; a later one may be in the same write
  std::set<WatcherToken> watchers_;
  std::map<int, Plan> plans_;
  std::vector<Asked> asked_;
};

}  // namespace tony::sim
