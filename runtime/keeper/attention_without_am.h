// Owner, watchers, kills and the watch timeout of a job that no AM can rule, as far as they are known for certain.
// Pure; the AM's own part is am/core/ownership.h.
//
//   the owner stays: a new one needs an AM, which writes down that it has come before it says so
//   look:  the newest watcher counts; a planned kill on behalf of another watcher is void
//   kill:  only while its condition holds; at once, or planned until it is due
//   nobody has looked for the watch timeout: the job has been abandoned
//
// Where what the AM had told is not known, neither a condition nor the watch timeout is.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/records/claim_record.h"

namespace tony::keeper {

class AttentionWithoutAm {
 public:
  void Know(const ClaimRecord& told, Instant now);  // once
  bool knows() const { return told_.has_value(); }

  void Wake(Instant now);  // before each look at the job's folder: after a gap nobody could have been heard
  void Look(const WatcherToken& watcher, Instant now);  // empty: somebody without a name
  // A request with a condition or a time; `due` by the caller's clock, and only the first time counts. Nothing: it
  // cannot be decided.
  std::optional<KillAnswer> Hear(const std::string& name, const KillRequest& request, Instant now);

  struct Plan {
    std::string name;  // of the request; empty: of one that the AM had planned
    KillRequest request;
  };
  std::vector<Plan> TakeVoid();                             // plans whose condition has ceased to hold, once
  std::optional<Plan> Due(Instant now) const;               // the first that is due
  std::optional<Duration> AbandonedFor(Instant now) const;  // the watch timeout that has passed

 private:
  void StartAnew(Instant now);

  std::optional<ClaimRecord> told_;
  std::vector<Plan> plans_, void_;
  std::set<std::string> was_void_;  // names of requests
  Instant woken_{}, last_look_{}, earliest_kill_{};
};

}  // namespace tony::keeper
