#include "runtime/job/executor_protocol.h"

#include "runtime/base/check.h"

namespace tony {

std::string_view ToString(Phase phase) {
  switch (phase) {
    case Phase::kWaiting:
      return "waiting";
    case Phase::kRunning:
      return "running";
    case Phase::kStopping:
      return "stopping";
    case Phase::kEnded:
      return "ended";
  }
  CHECK(false);
}

std::string_view ToString(RefusalReason reason) {
  switch (reason) {
    case RefusalReason::kBadToken:
      return "bad token";
    case RefusalReason::kWrongJob:
      return "wrong job";
    case RefusalReason::kUnknownAttempt:
      return "unknown attempt";
    case RefusalReason::kStaleAttempt:
      return "stale attempt";
    case RefusalReason::kStaleEpoch:
      return "stale epoch";
    case RefusalReason::kBadProtocol:
      return "bad protocol";
    case RefusalReason::kBadRequest:
      return "bad request";
    case RefusalReason::kNotRuling:
      return "not ruling";
  }
  CHECK(false);
}

}  // namespace tony
