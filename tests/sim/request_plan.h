// The plan of one run under one request id: the clients that submit, kill and watch, their times, and the steps at
// which they die.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/job/claim.h"
#include "runtime/job/outcome.h"
#include "runtime/records/submit_machine.h"

namespace tony::sim {

// Deliberate bugs in the shell around SubmitMachine or in what it uses. The checker must find each of them.
enum class RequestFlaw {
  kNone,
  // ---- bugs of a submit
  kTakesNoLock,
  // Without a lock, the submit writes its record even if the record has changed since it was read.
  kComparesNothing,
  // Without a lock, the submit treats a job that is being created as one that will never be created.
  kGivesNothingUp,
  // The submit does not check for a revocation after it has created or attached to a job.
  kOverlooksRevocation,
  // The submit does not record its number before it kills.
  kRaisesNoNumber,
  // The submit creates the job before it writes the record.
  kRecordsAfterCreate,
  // The submit treats a job that is stopping as one that has exited.
  kSeesAllGone,
  // The submit treats a job that succeeded as one that failed.
  kOverlooksSuccess,
  // The submit waits for a job's end without having requested it.
  kReplacesWithoutKill,
  kRecordsNoDigest,
  kRecordsNoRun,
  kOverlooksDigest,  // The submit ignores the recorded digest.
  kOverlooksRun,
  // The submit adopts a result that was consumed.
  kOverlooksAck,
  // The submit treats every try of an engine as the first.
  kTakesAllForFirst,
  // The submit treats every submitter as a later try.
  kTakesAllForLater,
  // The submit replaces a running job for a person.
  kTakesPersonForFirst,
  // ---- bugs of a kill

  // The kill searches for the job before it writes its revocation.
  kRevokesLast,
  // ---- bugs of the AM
  kIgnoresFence,  // The AM accepts every kill.
  // The AM keeps planned kills of clients that are not the newest.
  kForgetsToVoid,
  // The AM does not read the kill requests that were written while it was down.
  kForgetsRequests,
};

struct PlannedSubmit {
  Duration at{0};
  SubmitAsk ask;
  Claim claim;
  // The digest of what is to be run.
  std::string program;
  // The submit dies after this many steps; negative: it does not die.
  int dies_after = -1;
};

struct PlannedKill {
  Duration at{0};
  // The kill names the request id; otherwise it names one job, whichever there is.
  bool by_request = true;
  OwnerToken if_owner;
  WatcherToken if_watcher;
  Duration delay{0};
  int dies_after = -1;
};

struct PlannedLook {
  Duration at{0};
  WatcherToken watcher;
};

// An engine acknowledges the result of the newest job if that job has succeeded by then.
struct PlannedAck {
  Duration at{0};
};

// The behaviour of one job.
struct JobNature {
  Duration start{0};  // time until its AM answers
  Duration run{0};
  FinalState end = FinalState::kSucceeded;
  // The time from the decision to stop until the last process has exited.
  Duration stop{0};
  // How long the job's files do not show that decision.
  Duration stale{0};
  // The time from the final status until nothing of the job is left.
  Duration sweep{0};
  Duration am_down_at{0}, am_down_for{0};  // 0: the AM stays up
};

struct RequestPlan {
  std::vector<PlannedSubmit> submits;
  std::vector<PlannedKill> kills;
  std::vector<PlannedLook> looks;
  std::vector<PlannedAck> acks;
  // The times at which somebody starts all created jobs that were never started (as `tony recover` does).
  std::vector<Duration> recoveries;
  // true: the submits share a lock; false: they compare records
  bool has_lock = true;
  // A job with a kill request that no AM has read yet counts as stopping.
  bool kill_shows_in_files = false;
  uint64_t seed = 0;  // seed of everything else
};

inline SubmitDigest DigestOf(const PlannedSubmit& submit) { return {{{"files", submit.program}}}; }

RequestPlan RequestPlanFor(uint64_t seed);
JobNature NatureFor(uint64_t seed);

}  // namespace tony::sim
