// Who may have a job ended, said again from the contract and not from am/: read from the journal and from what engines
// asked and were answered.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/job/claim.h"
#include "runtime/records/decisions.h"

namespace tony::sim {

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
  void OnLooked(const WatcherToken& watcher);

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
