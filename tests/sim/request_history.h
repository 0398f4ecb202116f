// The visible events of one run under one request id, in order.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/base/time.h"
#include "runtime/job/claim.h"
#include "runtime/job/outcome.h"
#include "runtime/records/submit_machine.h"

namespace tony::sim {

enum class RequestEventKind {
  // ---- submits; `actor` is the submit's index
  kSubmitBegan,
  kSubmitEnded,  // `end`, `job`
  kSubmitDied,
  kRead,      // `record`
  kRecorded,  // `record`
  kJobMade,   // `job`
  kAttached,  // `job`
  // ---- kills; `actor` is kFirstKill plus the kill's index, or the index of a submit
  kRevoked,       // `request`.if_owner
  kKillAsked,     // `job`, `request`
  kKillAnswered,  // `job`, `request`, `answer`
  // all steps of the kill are done
  kKillDone,
  // ---- jobs
  kBegan,     // the job's tasks run
  kLooked,    // client activity of `watcher`
  kStopping,  // sets `cause`, `final_state`, the kill's `request`
  kEnded,     // the final status can be read
  kGone,      // nothing of the job is left
  kConsumed,  // the result was acknowledged
};

enum class EndCause { kItself, kKill, kAbandoned };

constexpr int kFirstKill = 100;

struct RequestEvent {
  RequestEventKind kind = RequestEventKind::kSubmitBegan;
  int actor = -1;
  JobId job{};
  RequestRecord record{};
  KillRequest request{};
  KillAnswer answer = KillAnswer::kTaken;
  SubmitEnd end = SubmitEnd::kCreated;
  WatcherToken watcher{};
  EndCause cause = EndCause::kItself;
  FinalState final_state = FinalState::kSucceeded;
  Instant time{};  // set by RequestHistory
};
std::string Describe(const RequestEvent& event);

struct RequestHistory {
  std::vector<RequestEvent> events;
  // No event was pending at the end of the run.
  bool settled = false;

  std::string Trace() const;  // Returns one line per event.
};

}  // namespace tony::sim
