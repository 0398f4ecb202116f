// The types by which a workflow engine (Azkaban or Airflow) controls a job: the owner of a job, the clients that watch
// the job, and kills of the job with their conditions. Tokens are opaque and random; equal tokens name the same party.
// An empty token names no party. In the condition of a kill, an empty token stands for any party.
#pragma once

#include <string>

#include "runtime/base/strings.h"
#include "runtime/base/time.h"
#include "runtime/job/ids.h"
#include "runtime/job/outcome.h"

namespace tony {

// Names one step of one workflow run, e.g. "airflow://dag/run/task/-1".
using RequestId = NamedId<struct RequestIdTag>;
// Names one attempt of a workflow engine to run a step.
using OwnerToken = NamedId<struct OwnerTokenTag>;
// Names one run of a workflow. All attempts to run the steps of that run have the same token.
using RunToken = NamedId<struct RunTokenTag>;
// Names one process that watches a job.
using WatcherToken = NamedId<struct WatcherTokenTag>;

// The ownership of a job. A workflow engine sends it with a submission, and the newest ownership counts.
struct Claim {
  OwnerToken owner;
  // If no client watches the job for this long, the job is ended as abandoned. 0: the job is never abandoned.
  Duration watch_timeout{0};
  bool operator==(const Claim&) const = default;
};

struct KillRequest {
  std::string reason;
  Duration grace{-1};  // below 0: the job's own grace
  // Condition of the kill: the job's owner has this token. Empty: no condition.
  OwnerToken if_owner;
  // Condition of the kill: the newest client that watched the job has this token. Empty: no condition.
  WatcherToken if_watcher;
  // The kill does not happen before this time. The conditions must hold until then.
  Instant due{};
  // The time from the request until `due`. The reader of the request computes `due` by its own clock
  // (WithDueByReader()). Until then, `due` is a time by the requester's clock and is only shown to people.
  Duration delay{0};
  // The user who requested the kill, if it is not the job's user: "root (uid 0)". Empty: the job's user, or root with
  // that user's rights. The requester cannot choose this name: it comes from the connection or from the owner of the
  // request's file.
  std::string asker;
  // The name of the request's record, which its reader sets. Empty: the request came in a call.
  std::string record;
  bool IsPlain() const {
    return if_owner.value.empty() && if_watcher.value.empty() && due == Instant{} && delay <= Duration(0);
  }
  bool operator==(const KillRequest&) const = default;
};

// Returns the reason for the kill as the job's verdict states it. The reason names the requester, unless that is the
// job's own user.
inline std::string ReasonWithRequester(const KillRequest& request) {
  return request.asker.empty() ? request.reason : "killed by " + request.asker + ": " + request.reason;
}

// Returns the name of the requester for log lines.
inline std::string RequesterOf(const KillRequest& request) {
  return request.asker.empty() ? "the job's own user" : request.asker;
}

// The answer to a kill request.
enum class KillAnswer {
  // The request was accepted: the job is being ended.
  kTaken,
  // The job will be ended when the request is due, unless the condition of the request no longer holds by then.
  kPlanned,
  // The condition of the request does not hold, so nothing was done.
  kFenced,
  // The job had ended before the request.
  kEnded,
};

// Returns whether the condition of `request` holds for a job with this owner and this newest watcher.
inline bool Holds(const KillRequest& request, const OwnerToken& owner, const WatcherToken& watcher) {
  const bool same_owner = request.if_owner.value.empty() || request.if_owner == owner;
  const bool same_watcher = request.if_watcher.value.empty() || request.if_watcher == watcher;
  return same_owner && same_watcher;
}

// Returns the answer to `request` for a running job. The AM and the keeper (supervisor of one job on one machine) share
// this rule.
inline KillAnswer JudgeKill(const KillRequest& request, const OwnerToken& owner, const WatcherToken& watcher,
                            Instant now) {
  if (!Holds(request, owner, watcher)) return KillAnswer::kFenced;
  return request.due > now ? KillAnswer::kPlanned : KillAnswer::kTaken;
}

// Returns the request with `due` set by the reader's clock. A delayed request does not rely on the requester's clock,
// because that clock may differ.
inline KillRequest WithDueByReader(Instant now, KillRequest request) {
  if (request.delay > Duration(0)) request.due = now + request.delay;
  return request;
}

}  // namespace tony
