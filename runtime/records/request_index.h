// What is known under request ids, in one backend. Seam: LocalRequestIndex, and RecordRequestIndex for clusters.
// Ids are any bytes but NUL, 1 to 4096; they are compared whole. A record that cannot be understood is an error that
// names it, never as good as none: the next submit would make a second job.
#pragma once

#include <memory>
#include <optional>

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/job/claim.h"
#include "runtime/records/submit_course.h"

namespace tony {

constexpr Duration kRevocationLasts{600'000};

// Held by the submit that decides; freed by its death. Where records are compared it keeps nobody out.
class RequestLock {
 public:
  virtual ~RequestLock() = default;
};

class RequestIndex {
 public:
  virtual ~RequestIndex() = default;

  // kUsage says what is wrong with an id. All of the others check it, too.
  static Status CheckId(const RequestId& request);

  // Waits, at most `limit`: kUnavailable then.
  virtual Result<std::unique_ptr<RequestLock>> Lock(const RequestId& request, Duration limit) const = 0;
  // As it counts: a job that was never made does not hide the one before. Nothing: never heard of.
  virtual Result<std::optional<RequestRecord>> Read(const RequestId& request) const = 0;
  // Durable, under the lock. `record` follows from one that was read, or from nothing. False: another one has been
  // written since, or what was `coming` has come; nothing was written. What was coming is never made any more.
  virtual Result<bool> Write(const RequestId& request, const RequestRecord& record) const = 0;
  // An owner that was told to stop; counts for kRevocationLasts. Durable, and needs no lock.
  virtual Status Revoke(const RequestId& request, const OwnerToken& owner, Instant now) const = 0;
  virtual Result<bool> IsRevoked(const RequestId& request, const OwnerToken& owner, Instant now) const = 0;
};

}  // namespace tony
