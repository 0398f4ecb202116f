// What happens to a TaskRun.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "executor/lease_sight.h"
#include "runtime/base/exit_status.h"
#include "runtime/job/executor_protocol.h"
#include "runtime/job/outcome.h"

namespace tony::executor {

// The executor is up. The first event, once.
struct Begun {};

// Answers of the AM; `link` is that of the UseAm before the call.
struct Registered {
  int64_t link = 0;
  Epoch epoch;
};
struct CommandReceived {
  int64_t link = 0;
  Command command;
};
struct HeartbeatAnswered {
  int64_t link = 0;
  Instant sent{};  // when the heartbeat was
};
struct ValuesAcknowledged {
  int64_t link = 0;
};
struct OutcomeAcknowledged {
  int64_t link = 0;
};
struct Refused {  // any call
  int64_t link = 0;
  RefusalReason reason = RefusalReason::kBadRequest;
};
struct ConnectionLost {  // ended any call, also by its limit
  int64_t link = 0;
  bool crowded = false;  // so many want the AM that its queue was full: it lives, and we are not cut off
};

// Answers to ReadLease; may also come unasked while WatchLease is in force.
struct LeaseRead {
  std::optional<SeenLease> record;  // nothing: no AM has ruled yet
};
struct LeaseUnreadable {};
struct FolderGone {};  // the job's folder was removed

struct AttemptNotBegun {};  // answers BeginAttempt where it failed

// Exactly one of the first two answers StartProcesses for each process, in their order; after a ProcessNotStarted no
// further one is tried. ProcessExited follows once reaped, after all of these answers.
struct ProcessStarted {
  int64_t pid = 0;
  int process = 0;
};
struct ProcessNotStarted {
  Outcome outcome;
  int process = 0;
};
struct ProcessExited {
  ExitStatus exit;
  std::string stderr_tail;
  std::optional<Outcome> judged;  // what all that was seen means; nothing: what the exit status alone means
  int process = 0;
};
// No process of the task is left, living or dead: the kernel says that we have no child. Answers a SignalTree, and
// comes by itself while the attempt is being ended.
struct TreeGone {};
// Answers a SignalTree with SIGKILL after which something is left.
struct TreeLives {
  std::string what;        // "2 processes, process 4711 for one"
  bool in_kernel = false;  // all of it: nobody can end it before the kernel lets go of it
};

// What the attempt has used so far. Before TreeGone: all that it used.
struct UsageMeasured {
  Usage usage;
};

// What the program has published so far. Between ProcessStarted and TreeGone; once more before each ProcessExited.
struct ValuesSeen {
  PublishedValues values;
};

struct TermSignal {};  // the keeper or NodeManager wants this executor gone
struct Tick {};        // NextDeadline() has passed

using Event =
    std::variant<Begun, Registered, CommandReceived, HeartbeatAnswered, ValuesAcknowledged, OutcomeAcknowledged,
                 Refused, ConnectionLost, LeaseRead, LeaseUnreadable, FolderGone, AttemptNotBegun, ProcessStarted,
                 ProcessNotStarted, ProcessExited, TreeGone, TreeLives, UsageMeasured, ValuesSeen, TermSignal, Tick>;

}  // namespace tony::executor
