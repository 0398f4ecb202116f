// What can be seen of a run from outside: processes, files, and what was said to whom. The checker knows nothing else.
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

// ---- the AM and its files
struct AmBegan {
  Epoch epoch;
};
struct AmGone {
  Epoch epoch;
};
struct AmWoke {  // it had stood still
  Epoch epoch;
};
struct JournalOpened {  // a torn tail has been cut off
  Epoch epoch;
  size_t size = 0;
};
struct JournalWritten {
  Epoch epoch;
  size_t at = 0;
  std::string bytes;
};
struct JournalStuck {  // it could not be written, or is again
  Epoch epoch;
  bool stuck = true;
};
struct JournalCutBack {  // what a write that failed had left behind is gone again
  Epoch epoch;
  size_t size = 0;
};
struct LeaseWritten {
  Epoch epoch;
};
struct StatusWritten {  // the final one
  Epoch epoch;
  Verdict verdict;
};
struct LookFailed {  // the directory of checkpoints could not be read
  Epoch epoch;
};
struct ArbiterHeard {  // the answer to what the AM asked the keeper so long ago
  Epoch epoch;
  Duration age{0};
};
// ---- what the AM says
struct KeeperListens {  // to this AM from now on, and to no earlier one
  Epoch epoch;
};
struct Ordered {  // as the keeper takes it
  enum class What { kLaunch, kTerm, kKill, kFinish };
  Epoch epoch;
  What what = What::kLaunch;
  ContainerId container;
  AttemptId attempt;  // to launch
};
struct Told {  // the answer to an Await
  Epoch epoch;
  AttemptId attempt;
  Command::Kind kind = Command::Kind::kNone;
  Generation generation;
  int next = 0;  // with kNext: the number of the attempt
};
struct AmHeard {  // a call of this attempt's executor has reached it
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
// ---- people and the keeper
struct KillWritten {};  // the kill request is in the job's folder
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
struct KeeperGaveUp {  // it has written this as the final status
  Verdict verdict;
};
struct ContainerBegan {
  ContainerId container;
  AttemptId attempt;
};
struct ContainerGone {
  ContainerId container;
};
struct ContainerToldGone {  // the scheduler says so, and may lie
  ContainerId container;
};
struct PreemptionTold {
  ContainerId container;
};
struct ExecutorTermed {  // by a fault or by order
  AttemptId attempt;
};
struct ExecutorDied {  // by SIGKILL
  AttemptId attempt;
};
struct JobClosed {};  // the keeper has ended what was left and is gone
// ---- executors and the user's processes
struct AttemptBegun {  // the executor in `container` goes on as this one
  ContainerId container;
  AttemptId attempt;
};
struct ExecutorHeard {  // an answer of an AM that it has not given up
  AttemptId attempt;
  Epoch epoch;
  Instant asked{};  // when the call was sent
};
struct ExecutorPutOff {  // the AM answers that it does not rule
  AttemptId attempt;
};
struct ExecutorBound {  // it has registered
  AttemptId attempt;
  Epoch epoch;
};
struct ExecutorObeyed {  // it did something because of a command
  AttemptId attempt;
  Epoch epoch;
};
struct ExecutorStalled {  // it stands still for so long
  AttemptId attempt;
  Duration length{0};
};
struct StoreCut {  // it cannot read the lease record for so long
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
  int process = 0;  // which one of the attempt
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

struct ValuesWritten {  // by the process, for its executor to see
  AttemptId attempt;
  PublishedValues values;
};

struct CheckpointThere {  // before the job; others wrote it
  Checkpoint checkpoint;
};

using Event =
    std::variant<AmBegan, AmGone, AmWoke, JournalOpened, JournalWritten, JournalStuck, JournalCutBack, LeaseWritten,
                 StatusWritten, LookFailed, ArbiterHeard, KeeperListens, Ordered, Told, AmHeard, OutcomeAcknowledged,
                 KillAcknowledged, KillWritten, ConditionalKillWritten, AttachAnswered, LookAnswered, KeeperBegan,
                 KeeperGone, KeeperGaveUp, ContainerBegan, ContainerGone, ContainerToldGone, PreemptionTold,
                 ExecutorTermed, ExecutorDied, JobClosed, AttemptBegun, ExecutorHeard, ExecutorPutOff, ExecutorBound,
                 ExecutorObeyed, ExecutorStalled, StoreCut, ProcessStarted, ProcessSignalled, ProcessEnded,
                 CheckpointWritten, CheckpointThere, ValuesAcknowledged, ValuesWritten>;
std::string ToString(const Event& event);

struct Seen {
  Instant time;
  Event event;
};

// What was promised of the world in which it happened.
struct Bounds {
  int64_t drift = 0;  // of clocks, in a million
  Duration offset{0};
  Duration overlap{0};    // by which a container may live on after the scheduler said that it ended
  Instant faults_over{};  // everything works from then on
  Duration longest_end{std::chrono::hours(24)};  // from then, or from when the job was to end, to its end
};

class History {
 public:
  // With a trace, notes and events are kept as text, too, and written to `echo` at once: a run may abort.
  explicit History(bool with_trace = false, std::ostream* echo = nullptr) : with_trace_(with_trace), echo_(echo) {}

  void Add(Instant time, Event event);
  void Note(Instant time, const std::string& text);  // for the reader of the trace; the checker does not see it
  bool with_trace() const { return with_trace_; }

  const std::vector<Seen>& events() const { return events_; }
  std::vector<Seen>& events() { return events_; }
  const std::string& trace() const { return trace_; }
  std::string journal;  // as the file was at the end
  Bounds bounds;

 private:
  bool with_trace_;
  std::ostream* echo_;
  std::vector<Seen> events_;
  std::string trace_;
};

}  // namespace tony::sim
