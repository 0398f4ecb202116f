// A client's calls to the AM: blocking, for short commands and for `wait`. Stock Thrift underneath. One thread at a
// time. Every call has a limit; a failed call leaves the object closed, and a new one must be made.
#pragma once

#include <memory>
#include <string>

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/job/cluster_spec.h"
#include "runtime/job/job_status.h"

namespace tony {

class StatusClient {
 public:
  virtual ~StatusClient() = default;
  virtual Result<JobStatus> GetStatus() = 0;
  virtual Result<JobStatus> Watch(int64_t since, Duration limit, const WatcherToken& watcher) = 0;
  struct Killed {
    KillAnswer answer = KillAnswer::kTaken;
    JobStatus status;
  };
  virtual Result<Killed> Kill(const KillRequest& request) = 0;
  struct Attached {
    bool attached = false;  // false: it is being ended, or has ended otherwise than well
    JobStatus status;
  };
  virtual Result<Attached> Attach(const Claim& claim) = 0;
  // From any thread: the call under way, or else the next one, fails at once.
  virtual void Interrupt() = 0;
};

// kUnavailable: nobody listens there (any more), or no answer in time. kNotPermitted: wrong token.
Result<std::unique_ptr<StatusClient>> ConnectStatusClient(const Endpoint& am, const std::string& token, Duration limit);

}  // namespace tony
