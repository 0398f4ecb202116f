// What could be seen of one run under one request id, in the order in which it happened.
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
  // ---- submits; `actor` is the number of the submit
  kSubmitBegan,
  kSubmitEnded,  // `end`, `job`
  kSubmitDied,
  kRead,      // `record`
  kRecorded,  // `record`
  kJobMade,   // `job`
  kAttached,  // `job`
  // ---- kills; `actor` is kFirstKill and the number of the kill, or a submit
  kRevoked,       // `request`.if_owner
  kKillAsked,     // `job`, `request`
  kKillAnswered,  // `job`, `request`, `answer`
  kKillDone,      // all its steps are taken
  // ---- jobs
  kBegan,     // its tasks run
  kLooked,    // `watcher`
  kStopping,  // `cause`, `final_state`; `request` of the kill
  kEnded,     // its final status can be read
  kGone,      // nothing of it is left
  kConsumed,  // its result was acknowledged
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
  bool settled = false;  // nothing more was to come

  std::string Trace() const;  // a line each
};

}  // namespace tony::sim
