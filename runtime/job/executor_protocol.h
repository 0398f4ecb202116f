// The messages between executors and the AM, in TonY's own types. tony.thrift is the wire form and documents the
// fields; rpc/convert translates between the two.
#pragma once

#include <algorithm>
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
  // The newest generation that the executor knows.
  Generation generation;
  // The newest epoch of the AM that the executor knows.
  Epoch epoch;
  std::string token;
  // The number of the newest ClusterTokens that the executor has; 0: none.
  int64_t tokens = 0;
};

// Tokens with which the programs of a job call the cluster. The client that watches a job pushes fresh tokens before
// the old ones end. Never log them: a token is as good as a password.
struct ClusterTokens {
  // The time at which the tokens were issued, in ms since 1970; newer tokens have a higher number. 0: no tokens.
  int64_t number = 0;
  // The time at which the first of the tokens ends.
  Instant until{};
  // The content of a token file, as hadoop::EncodeCredentials() writes it.
  std::string bytes = {};
  bool operator==(const ClusterTokens&) const = default;

  Duration Life() const { return until - FromMillis(number); }
};

// Returns the time after `since` at which a program that renews tokens fetches fresh ones: a quarter of the tokens'
// life from `since`.
inline Duration UntilFreshTokens(Instant until, Instant since) { return std::max((until - since) / 4, Duration(200)); }
// Returns the time after which such a program tries again after a failure. After the end of the tokens, the pause
// spares the KDC until a user runs kinit.
inline Duration UntilRetry(Instant until, Instant now) {
  return until > now ? std::min(UntilFreshTokens(until, now), Duration(60'000)) : Duration(10'000);
}

// The answer to pushed tokens.
struct TokensReply {
  bool taken = false;  // false: the job has newer tokens
  // The time until which the newest tokens of the job are valid.
  Instant until{};
};

enum class Phase { kWaiting, kRunning, kStopping, kEnded };
constexpr auto NamesOf(Phase) { return EnumNames("waiting", "running", "stopping", "ended"); }

struct Registration {
  Endpoint endpoint;
  Phase phase = Phase::kWaiting;
  int64_t pid = 0;
  // The additional ports of the task. Executors of earlier releases send none.
  NamedPorts ports = {};
};

struct Progress {
  Phase phase = Phase::kWaiting;
  int64_t pid = 0;
  // The usage of the attempt so far. Not set until the usage has been measured.
  std::optional<Usage> usage;
};

// The report of an executor after its attempt has ended.
struct AttemptReport {
  Outcome outcome;
  // The outputs that a successful chief left; not set if it left no outputs.
  std::optional<KeptOutputs> outputs;
  // Excerpts of the logs of a chief or of a failed attempt. Only executors whose logs cannot be read from other nodes
  // send them.
  std::vector<LogExcerpt> logs = {};
};

struct Command {
  enum class Kind { kNone, kStart, kStop, kRelease, kNext };
  int64_t number = 0;
  Kind kind = Kind::kNone;
  Generation generation;
  // With kStart: the cluster spec as JSON.
  std::string cluster_spec;
  // With kStop: the time between SIGTERM and SIGKILL.
  Duration grace{0};
  // With kNext: the number of the attempt that the executor runs from now on.
  int attempt = 0;
  // With kStart: the checkpoint to resume from; empty: none.
  std::string resume_from;
  // With kStop: the reason for the stop, e.g. "preempted". Empty if the task is stopped for a restart, or together with
  // the whole job.
  std::string reason;
  // With kNone: requests to read the task's logs.
  std::vector<LogAsk> logs = {};
  // With kNone: tokens that replace those of the executor.
  std::optional<ClusterTokens> tokens = std::nullopt;
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
  kNotLeader,
};
constexpr auto NamesOf(RefusalReason) {
  return EnumNames("bad token", "wrong job", "unknown attempt", "stale attempt", "stale epoch", "bad protocol",
                   "bad request", "not leader");
}

struct Refusal {
  RefusalReason reason = RefusalReason::kBadRequest;
  std::string message;
};

}  // namespace tony
