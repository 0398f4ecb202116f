// The owner of the job, its client activity, and its planned kills. Part of Job: no I/O, no threads, no clock. A Decide
// function returns the decisions that follow from an observation; an Apply function changes the state.
//
//   attach:    the newest owner counts; a kill that was planned on behalf of another owner becomes void
//   activity:  the newest watcher counts; a kill that was planned on behalf of another watcher becomes void, and stays
//              void if that watcher returns
//   kill:      allowed only while the owner and the watcher that it names are the current ones; takes effect at once,
//              or is planned until it is due
//   no client activity for watch_timeout: the job has been abandoned
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/job/claim.h"
#include "runtime/records/decisions.h"

namespace tony::am {

class Ownership {
 public:
  // ---- policy
  std::vector<DecisionBody> DecideAttach(const Claim& claim) const;
  // Returns the decisions, and notes `now` as the time of the last client activity.
  std::vector<DecisionBody> DecideClientSeen(const WatcherToken& watcher, Instant now);
  KillAnswer Judge(const KillRequest& request, Instant now) const;
  // Returns the decisions that plan a kill which is not due yet.
  std::vector<DecisionBody> DecidePlan(const KillRequest& request) const;
  // Returns whether a kill was planned for the record of this request. A void plan counts, too.
  bool WasPlanned(const KillRequest& request) const;
  // Returns the planned kill that is due first; nullopt if it is not due yet or not allowed.
  std::optional<KillRequest> DueKill(Instant now) const;
  bool IsAbandoned(Instant now) const;
  std::optional<Instant> NextDeadline() const;
  // Restarts the watch timeout, because no client could reach an AM before `now`.
  void RestartWatchTimeout(Instant now);
  // Returns KillVoided for each planned kill whose condition does not hold. After a crash, a journal of version 1 may
  // lack this decision.
  std::vector<DecisionBody> DecideVoid() const;

  // ---- state; Apply() returns kInvalid if the decision does not fit the state
  Status Apply(const OwnerChanged& d);
  Status Apply(const WatcherChanged& d);
  Status Apply(const KillPlanned& d);
  Status Apply(const KillVoided& d);

  // True once the submitter's ownership, or a later one, is in the journal.
  bool claimed() const { return claimed_; }
  const Claim& claim() const { return claim_; }
  const WatcherToken& watcher() const { return watcher_; }
  std::optional<KillRequest> NextPlanned() const;  // planned kill that is due first

  // Ends the process if two of the private members contradict each other.
  void CheckInvariants() const;

 private:
  std::vector<DecisionBody> Void(const std::string& reason, const Claim& claim, const WatcherToken& watcher) const;

  bool claimed_ = false;
  Claim claim_;
  WatcherToken watcher_;
  std::map<int, KillRequest> plans_;  // planned kills by number
  int newest_plan_ = 0;
  std::set<std::string> planned_records_;
  // The time of the last client activity. Not journalled.
  std::optional<Instant> last_look_;
  // The time before which no planned kill takes effect. Not journalled.
  Instant earliest_kill_{};
};

}  // namespace tony::am
