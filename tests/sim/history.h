// Events of a run that are visible from outside: processes, files and messages. The checker sees nothing else.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/base/exit_status.h"
#include "runtime/base/time.h"
#include "runtime/job/checkpoint.h"
#include "runtime/job/claim.h"
#include "runtime/job/executor_protocol.h"
#include "runtime/job/outcome.h"
#include "runtime/job/scheduler_events.h"

namespace tony::sim {

// ---- events of the AM and its files
struct AmBegan {
  Epoch epoch;
};
struct AmGone {
  Epoch epoch;
};
struct AmStalled {
  Epoch epoch;
  Duration length;
};
// The AM has opened the journal and cut off a torn tail.
struct JournalOpened {
  Epoch epoch;
  size_t size = 0;
};
struct JournalWritten {
  Epoch epoch;
  size_t at = 0;
  std::string bytes;
};
// `stuck`: a write to the journal has failed. Otherwise writes work again.
struct JournalStuck {
  Epoch epoch;
  bool stuck = true;
};
// The AM has cut off the bytes that a failed write left in the journal.
struct JournalCutBack {
  Epoch epoch;
  size_t size = 0;
};
struct LeaseWritten {
  Epoch epoch;
};
// The AM has written the final status.
struct StatusWritten {
  Epoch epoch;
  Verdict verdict;
};
// The AM could not read the checkpoint directory.
struct LookFailed {
  Epoch epoch;
};
// The keeper's answer has reached the AM. `age` is the time since the AM sent its request.
struct ArbiterHeard {
  Epoch epoch;
  Duration age{0};
};
// The scheduler has granted a container to the AM.
struct ContainerOffered {
  Epoch epoch;
  ContainerId container;
};
// ---- messages of the AM

// From now on the keeper accepts orders from this AM and from no earlier one.
struct KeeperListens {
  Epoch epoch;
};
// The keeper has received an order of the AM.
struct Ordered {
  enum class What { kLaunch, kTerm, kKill, kFinish };
  Epoch epoch;
  What what = What::kLaunch;
  ContainerId container;
  AttemptId attempt;  // for kLaunch
};
// The AM has answered an Await call.
struct Told {
  Epoch epoch;
  AttemptId attempt;
  Command::Kind kind = Command::Kind::kNone;
  Generation generation;
  int next = 0;  // for kNext: the attempt's number
  Duration grace{0};
};
// A call of this attempt's executor has reached the AM.
struct AmHeard {
  Epoch epoch;
  AttemptId attempt;
};
struct ValuesAcknowledged {
  Epoch epoch;
  AttemptId attempt;
  PublishedValues values;
};
struct OutcomeAcknowledged {
  Epoch epoch;
  AttemptId attempt;
  Outcome outcome;
};
struct KillAcknowledged {
  Epoch epoch;
};
// ---- events of users and of the keeper

// The kill request is in the job's folder.
struct KillWritten {};
struct ConditionalKillWritten {
  KillRequest request;
};
struct AttachAnswered {
  Epoch epoch;
  Claim claim;
  Instant asked;
  bool attached = false;
};
struct LookAnswered {
  Epoch epoch;
  WatcherToken watcher;
  Instant asked;
};
struct KeeperBegan {};
struct KeeperGone {};
// The keeper has given up on the AM and has written this verdict as the final status.
struct KeeperGaveUp {
  Verdict verdict;
};
struct ContainerBegan {
  ContainerId container;
  AttemptId attempt;
};
struct ContainerGone {
  ContainerId container;
};
// The scheduler reports that the container has exited. The report may be false.
struct ContainerToldGone {
  ContainerId container;
};
struct PreemptionTold {
  ContainerId container;
};
// The executor has received SIGTERM, from a fault or from an order.
struct ExecutorTermed {
  AttemptId attempt;
};
struct ExecutorDied {  // The executor was killed with SIGKILL.
  AttemptId attempt;
};
// The keeper has ended all that was left of the job and has exited.
struct JobClosed {};
// ---- events of executors and of the user's processes

// The executor in `container` runs this attempt from now on.
struct AttemptBegun {
  ContainerId container;
  AttemptId attempt;
};
// The executor has received an answer of an AM that it still follows.
struct ExecutorHeard {
  AttemptId attempt;
  Epoch epoch;
  Instant asked{};  // the time of the call
};
// The AM answers that it is not the leader.
struct ExecutorPutOff {
  AttemptId attempt;
};
struct ExecutorBound {  // The executor has registered.
  AttemptId attempt;
  Epoch epoch;
};
// The executor has acted on a command.
struct ExecutorObeyed {
  AttemptId attempt;
  Epoch epoch;
};
// The executor is frozen for this long.
struct ExecutorStalled {
  AttemptId attempt;
  Duration length{0};
};
// The executor cannot read the lease record for this long.
struct StoreCut {
  AttemptId attempt;
  Duration length{0};
};
struct ProcessStarted {
  AttemptId attempt;
  ContainerId container;
  Generation generation;
  int64_t pid = 0;
  std::string cluster_spec;
  std::string resume_from;
  int process = 0;  // its index within the attempt
};
struct ProcessSignalled {
  AttemptId attempt;
  int64_t pid = 0;
  int signal = 0;
};
struct ProcessEnded {
  AttemptId attempt;
  int64_t pid = 0;
  ExitStatus exit;
  int process = 0;
};
struct CheckpointWritten {
  AttemptId attempt;
  Checkpoint checkpoint;
};

// The process has written values for its executor to publish.
struct ValuesWritten {
  AttemptId attempt;
  PublishedValues values;
};

// A checkpoint of another job is in the directory before this job begins.
struct CheckpointThere {
  Checkpoint checkpoint;
};

using Event =
    std::variant<AmBegan, AmGone, AmStalled, JournalOpened, JournalWritten, JournalStuck, JournalCutBack, LeaseWritten,
                 StatusWritten, LookFailed, ArbiterHeard, ContainerOffered, KeeperListens, Ordered, Told, AmHeard,
                 OutcomeAcknowledged, KillAcknowledged, KillWritten, ConditionalKillWritten, AttachAnswered,
                 LookAnswered, KeeperBegan, KeeperGone, KeeperGaveUp, ContainerBegan, ContainerGone, ContainerToldGone,
                 PreemptionTold, ExecutorTermed, ExecutorDied, JobClosed, AttemptBegun, ExecutorHeard, ExecutorPutOff,
                 ExecutorBound, ExecutorObeyed, ExecutorStalled, StoreCut, ProcessStarted, ProcessSignalled,
                 ProcessEnded, CheckpointWritten, CheckpointThere, ValuesAcknowledged, ValuesWritten>;
std::string ToString(const Event& event);

struct Seen {
  Instant time;
  Event event;
};

// Limits that the simulated world kept during the run.
struct Bounds {
  // The drift of clocks in parts per million.
  int64_t drift = 0;
  Duration offset{0};
  // The longest time that a container may run after the scheduler reported its end.
  Duration overlap{0};
  // From this time on no fault is in effect.
  Instant faults_over{};
  // The longest time until the job's end, counted from the later of `faults_over` and the moment when the job had to
  // stop.
  Duration longest_end{std::chrono::hours(24)};
  // The longest time after which an executor notices a change of the lease record.
  Duration late_read{1'000};
  // The scheduler may start an AM while an earlier one lives.
  bool two_ams = false;
};

class History {
 public:
  // `with_trace`: the history keeps notes and events as text, too, and writes them to `echo` at once because a run may
  // abort.
  explicit History(bool with_trace = false, std::ostream* echo = nullptr) : with_trace_(with_trace), echo_(echo) {}

  void Add(Instant time, Event event);
  // Adds a note for the reader of the trace. The checker does not see it.
  void Note(Instant time, const std::string& text);
  bool with_trace() const { return with_trace_; }

  const std::vector<Seen>& events() const { return events_; }
  std::vector<Seen>& events() { return events_; }
  const std::string& trace() const { return trace_; }
  // The journal file's bytes at the end of the run.
  std::string journal;
  Bounds bounds;

 private:
  bool with_trace_;
  std::ostream* echo_;
  std::vector<Seen> events_;
  std::string trace_;
};

}  // namespace tony::sim
