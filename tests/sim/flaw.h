// Ways to get a shell wrong: the checker must find every one.
#pragma once

namespace tony::sim {

enum class Flaw {
  kNone,
  // ---- the AM's
  kActsBeforeJournal,       // answers and acts, then writes
  kOpensStagesEarly,        // the same, of published values alone
  kForgetsJournal,          // a new AM begins from nothing
  kKeepsTornTail,           // appends behind half a record
  kTellsAhead,              // answers an Await from a state that is not in the journal yet
  kForgetsKill,             // a new AM does not read the kill request
  kRenewsWithoutRule,       // renews the lease record while its arbiter cannot be reached
  kRenewsUnwritten,         // takes a lease record that it could not write for renewed
  kSkipsPendingOrders,      // a new AM does not order again what its predecessor may not have got done
  kSeesNoCheckpoint,        // finds none, whatever there is
  kTakesOthersCheckpoints,  // goes on from what was there before the job
  kIgnoresFence,            // takes a conditional kill for a plain one
  kOverlooksWatchers,       // takes every watcher for somebody without a name
  kFollowsWall,             // sets its clock by the wall's, whatever the job's was
  // ---- the scheduler's
  kConfirmsUnseen,     // says that a container is gone as soon as its end is ordered
  kWaitsForWhatStays,  // waits long for a process that it cannot end
  // ---- the executor's
  kStartsTwice,           // starts a process again that ended
  kLosesValues,           // does not see what its process publishes
  kLosesResume,           // does not say where to resume
  kAltersClusterSpec,     // gives its process another cluster spec than the AM gave it
  kIgnoresStop,           // does not signal what it is told to stop
  kSeesFirstProcessOnly,  // takes the end of every other process for a good one
  kForgetsAttempt,        // goes on in its old attempt's name
};

}  // namespace tony::sim
