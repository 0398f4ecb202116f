// What executors and the AM say to each other, in our own types. tony.thrift is the wire form, rpc/convert the bridge;
// field meanings are documented there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/names.h"
#include "runtime/base/time.h"
#include "runtime/job/cluster_spec.h"
#include "runtime/job/ids.h"
#include "runtime/job/log_pieces.h"
#include "runtime/job/outcome.h"
#include "runtime/job/outputs.h"

namespace tony {

struct Caller {
  JobId job;
  AttemptId attempt;
  ContainerId container;
  Generation generation;  // newest the executor knows
  Epoch epoch;            // newest the executor knows
  std::string token;
};

enum class Phase { kWaiting, kRunning, kStopping, kEnded };
constexpr auto NamesOf(Phase) { return EnumNames("waiting", "running", "stopping", "ended"); }

struct Registration {
  Endpoint endpoint;
  Phase phase = Phase::kWaiting;
  int64_t pid = 0;
  NamedPorts ports = {};  // besides its own; executors of earlier releases name none
};

struct Progress {
  Phase phase = Phase::kWaiting;
  int64_t pid = 0;
  std::optional<Usage> usage;  // nothing: not measured yet
};

// How an attempt has ended.
struct AttemptReport {
  Outcome outcome;
  std::optional<KeptOutputs> outputs;  // of a chief that has succeeded; nothing: it left none
  std::vector<LogExcerpt> logs = {};   // of a chief, or of an attempt that failed, where its node keeps them to itself
};

struct Command {
  enum class Kind { kNone, kStart, kStop, kRelease, kNext };
  int64_t number = 0;
  Kind kind = Kind::kNone;
  Generation generation;
  std::string cluster_spec;       // JSON, with kStart
  Duration grace{0};              // with kStop
  int attempt = 0;                // with kNext: the number of the attempt that the executor runs from now on
  std::string resume_from;        // with kStart: the newest checkpoint; empty: none, or the first start
  std::string reason;             // with kStop of this task alone: why, as "preempted"
  std::vector<LogAsk> logs = {};  // with kNone: somebody reads the task's logs
  bool operator==(const Command&) const = default;
};

enum class RefusalReason {
  kBadToken,
  kWrongJob,
  kUnknownAttempt,
  kStaleAttempt,
  kStaleEpoch,
  kBadProtocol,
  kBadRequest,
  kNotRuling,
};
constexpr auto NamesOf(RefusalReason) {
  return EnumNames("bad token", "wrong job", "unknown attempt", "stale attempt", "stale epoch", "bad protocol",
                   "bad request", "not ruling");
}

struct Refusal {
  RefusalReason reason = RefusalReason::kBadRequest;
  std::string message;
};

}  // namespace tony
