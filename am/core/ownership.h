// Who answers for the job, who has looked at it, and which kills are planned. Part of Job, and as pure: Decide... says
// what follows from what is seen, Apply changes the state.
//
//   attach:  the newest owner counts; a planned kill on behalf of another owner is void
//   look:    the newest watcher counts; a planned kill on behalf of another watcher is void, also if that watcher
//            looks again
//   kill:    only while its owner is the owner and its watcher the newest; at once, or planned until it is due
//   nobody has looked for watch_timeout: the job has been abandoned
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "runtime/job/claim.h"
#include "runtime/records/decisions.h"

namespace tony::am {

class Ownership {
 public:
  // ---- policy
  std::vector<DecisionBody> DecideAttach(const Claim& claim) const;
  std::vector<DecisionBody> DecideLook(const WatcherToken& watcher, Instant now);  // notes the time of the look
  KillAnswer Judge(const KillRequest& request, Instant now) const;
  // The plan of a request that is not due yet.
  std::vector<DecisionBody> DecidePlan(const KillRequest& request) const;
  std::optional<KillRequest> DueKill(Instant now) const;  // the first planned kill that is due, and allowed
  bool IsAbandoned(Instant now) const;
  std::optional<Instant> NextDeadline() const;
  void StartAnew(Instant now);  // nobody could look or attach before
  // Plans whose condition does not hold: journals of version 1 may lack their KillVoided after a crash.
  std::vector<DecisionBody> DecideVoid() const;

  // ---- state; kInvalid: does not fit
  Status Apply(const OwnerChanged& d);
  Status Apply(const WatcherChanged& d);
  Status Apply(const KillPlanned& d);
  Status Apply(const KillVoided& d);

  bool claimed() const { return claimed_; }  // the submitter's word, or a later one, has been noted
  const Claim& claim() const { return claim_; }
  const WatcherToken& watcher() const { return watcher_; }
  std::optional<KillRequest> NextPlanned() const;  // the one that is due first

  // Ends the process if two of these members contradict each other.
  void CheckInvariants() const;

 private:
  std::vector<DecisionBody> Void(const std::string& reason, const Claim& claim, const WatcherToken& watcher) const;

  bool claimed_ = false;
  Claim claim_;
  WatcherToken watcher_;
  std::map<int, KillRequest> plans_;  // by number
  int newest_plan_ = 0;
  // Volatile.
  std::optional<Instant> last_look_;
  Instant earliest_kill_{};  // of a planned one
};

}  // namespace tony::am
