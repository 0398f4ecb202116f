// Who answers for a job, who looks at it, and who may have it ended: the words of the contract with workflow engines.
// Tokens are opaque and random; equal means the same one. Empty: none, or whoever.
#pragma once

#include <string>

#include "runtime/base/strings.h"
#include "runtime/base/time.h"
#include "runtime/job/ids.h"
#include "runtime/job/outcome.h"

namespace tony {

using RequestId = NamedId<struct RequestIdTag>;        // one step of one workflow run: "airflow://dag/run/task/-1"
using OwnerToken = NamedId<struct OwnerTokenTag>;      // one attempt of an engine at that step
using RunToken = NamedId<struct RunTokenTag>;          // one run of a workflow, whatever the try
using WatcherToken = NamedId<struct WatcherTokenTag>;  // one process that watches

// An engine's word for a job, given with submit: newest counts.
struct Claim {
  OwnerToken owner;
  Duration watch_timeout{0};  // nobody has looked for so long: the job is ended as abandoned; 0: it is not
  bool operator==(const Claim&) const = default;
};

struct KillRequest {
  std::string reason;
  Duration grace{-1};       // below 0: the job's own
  OwnerToken if_owner;      // only while this one is the job's owner
  WatcherToken if_watcher;  // only while no other watcher has looked later than this one
  Instant due{};            // not before; what the request asks for must hold until then
  // The time from the request until it is due. The reader sets `due` by its own clock (ByClockOf); until then `due` is
  // by the asker's clock, and for people.
  Duration delay{0};
  std::string asker;  // another user than the job's: "root (uid 0)"; empty: the job's own, or root with its rights.
                      // Never the asker's word
  bool IsPlain() const {
    return if_owner.value.empty() && if_watcher.value.empty() && due == Instant{} && delay <= Duration(0);
  }
  bool operator==(const KillRequest&) const = default;
};

// Why the job will have ended, for its verdict.
inline std::string ReasonWithAsker(const KillRequest& request) {
  return request.asker.empty() ? request.reason : "killed by " + request.asker + ": " + request.reason;
}

// For logs.
inline std::string AskerOf(const KillRequest& request) {
  return request.asker.empty() ? "the job's own user" : request.asker;
}

// What became of a kill request.
enum class KillAnswer {
  kTaken,    // the job is being ended
  kPlanned,  // it will be when the request is due, unless its condition fails before
  kFenced,   // its condition does not hold: nothing was done
  kEnded,    // the job has ended already
};

// Whether the condition of `request` holds for a job with this owner and this newest watcher.
inline bool Holds(const KillRequest& request, const OwnerToken& owner, const WatcherToken& watcher) {
  const bool same_owner = request.if_owner.value.empty() || request.if_owner == owner;
  const bool same_watcher = request.if_watcher.value.empty() || request.if_watcher == watcher;
  return same_owner && same_watcher;
}

// The answer to `request` for a job that runs: the one rule of the AM and of the keeper.
inline KillAnswer JudgeKill(const KillRequest& request, const OwnerToken& owner, const WatcherToken& watcher,
                            Instant now) {
  if (!Holds(request, owner, watcher)) return KillAnswer::kFenced;
  return request.due > now ? KillAnswer::kPlanned : KillAnswer::kTaken;
}

// The request with `due` by the clock of its reader, because the asker's clock may be another one.
inline KillRequest ByClockOf(Instant now, KillRequest request) {
  if (request.delay > Duration(0)) request.due = now + request.delay;
  return request;
}

}  // namespace tony
