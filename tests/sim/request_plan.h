// What happens in one run under one request id: who submits, kills and looks, when, and where they die.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/job/claim.h"
#include "runtime/job/outcome.h"
#include "runtime/records/submit_machine.h"

namespace tony::sim {

// Ways to get a shell around SubmitMachine, or what it stands on, wrong: the checker must find every one.
enum class RequestFlaw {
  kNone,
  // ---- a submit's
  kTakesNoLock,
  kComparesNothing,      // where there is no lock: writes its record whatever was written since it read one
  kGivesNothingUp,       // there: takes a job that is coming for one that never comes
  kOverlooksRevocation,  // does not look for it after it has made or attached to a job
  kRaisesNoNumber,       // does not record its number before it kills
  kRecordsAfterCreate,   // makes the job first
  kSeesAllGone,          // takes a job that is being ended for one that has left
  kOverlooksSuccess,     // takes a job that succeeded for one that failed
  kReplacesWithoutKill,  // waits for a job's end without having asked for it
  kRecordsNoDigest,
  kRecordsNoRun,
  kOverlooksDigest,  // of what is recorded
  kOverlooksRun,
  kOverlooksAck,         // adopts what was consumed
  kTakesAllForFirst,     // tries of an engine for its first
  kTakesAllForLater,     // whoever submits for a later try
  kTakesPersonForFirst,  // replaces for a person what runs
  // ---- a kill's
  kRevokesLast,  // looks for the job, then writes its revocation
  // ---- the AM's
  kIgnoresFence,     // takes every kill
  kForgetsToVoid,    // keeps the planned kills of those who are not the newest
  kForgetsRequests,  // does not read the kill requests that came while it was down
};

struct PlannedSubmit {
  Duration at{0};
  SubmitAsk ask;
  Claim claim;
  std::string program;  // what is to be run, as its digest
  int dies_after = -1;  // so many steps; below 0: it does not
};

struct PlannedKill {
  Duration at{0};
  bool by_request = true;  // else one job, whichever there is
  OwnerToken if_owner;
  WatcherToken if_watcher;
  Duration delay{0};
  int dies_after = -1;
};

struct PlannedLook {
  Duration at{0};
  WatcherToken watcher;
};

// An engine says that it has consumed the result of the newest job, if that has succeeded by then.
struct PlannedAck {
  Duration at{0};
};

// How one job is.
struct JobNature {
  Duration start{0};  // until its AM answers
  Duration run{0};
  FinalState end = FinalState::kSucceeded;
  Duration stop{0};                        // from the decision to the last process
  Duration stale{0};                       // how long its files say nothing of that decision
  Duration sweep{0};                       // from the final status until nothing is left
  Duration am_down_at{0}, am_down_for{0};  // 0: it stays
};

struct RequestPlan {
  std::vector<PlannedSubmit> submits;
  std::vector<PlannedKill> kills;
  std::vector<PlannedLook> looks;
  std::vector<PlannedAck> acks;
  std::vector<Duration> recoveries;  // somebody has a job started that nobody has started
  bool has_lock = true;              // else records are compared
  bool kill_shows_in_files = false;  // a job with a kill request that no AM has read yet counts as being ended
  uint64_t seed = 0;                 // of all else
};

inline SubmitDigest DigestOf(const PlannedSubmit& submit) { return {{{"files", submit.program}}}; }

RequestPlan RequestPlanFor(uint64_t seed);
JobNature NatureFor(uint64_t seed);

}  // namespace tony::sim
