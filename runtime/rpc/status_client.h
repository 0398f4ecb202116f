// A client's calls to the AM: blocking, for short commands and for `wait`. Stock Thrift underneath. One thread at a
// time. Every call has a limit; a failed call leaves the object closed, and a new one must be made.
#pragma once

#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>

#include "runtime/base/address.h"
#include "runtime/base/result.h"
#include "runtime/base/time.h"
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

// To the AM of the job in `folder`. A full queue is waited out, for `limit` at most, or until `stop`. kUnavailable:
// nobody listens there (any more), or no answer in time. kNotPermitted, of this: whoever listens there is not told the
// token, see reach.h; of a call: wrong token.
Result<std::unique_ptr<StatusClient>> ConnectStatusClient(const std::filesystem::path& folder, const Address& am,
                                                          const std::string& token, Duration limit,
                                                          const std::stop_token& stop = {});

}  // namespace tony
