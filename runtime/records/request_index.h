// Records for request ids in one backend. Interface, implemented by LocalRequestIndex, and by RecordRequestIndex for
// clusters. An id has 1 to 4096 bytes, any except NUL, and is compared as a whole. A record that cannot be understood
// is an error that names it. It never counts as missing, because the next submit would then make a second job.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/job/claim.h"
#include "runtime/records/record_store.h"
#include "runtime/records/submit_machine.h"

namespace tony {

constexpr Duration kRevocationLasts{600'000};

// The lock that a submit has taken while it decides about a request. The lock ends when the submit dies. The lock of
// RecordRequestIndex does not exclude other submits, because that index compares records instead.
class RequestLock {
 public:
  virtual ~RequestLock() = default;
};

class RequestIndex {
 public:
  virtual ~RequestIndex() = default;

  // Returns kUsage if the id is not valid; the message names what is wrong. All other methods make this check first.
  static Status CheckId(const RequestId& request);

  // Waits for the lock for at most `limit`; kUnavailable after that time.
  virtual Result<std::unique_ptr<RequestLock>> Lock(const RequestId& request, Duration limit) const = 0;
  // Returns the record that counts. If the newest job was never made, the returned record names the job before that
  // job. nullopt: the id is unknown.
  virtual Result<std::optional<RequestRecord>> Read(const RequestId& request) const = 0;
  // Writes a record durably; the caller must have taken the lock. `record` must be derived from the result of the last
  // Read(). Returns false and writes nothing if another record was written since that Read(), or if the job that the
  // read record names as `coming` was made meanwhile. After success, that job is never made, unless it is `record.job`.
  virtual Result<bool> Write(const RequestId& request, const RequestRecord& record) const = 0;
  // Records durably that this owner must stop; valid for kRevocationLasts. The caller needs no lock.
  virtual Status Revoke(const RequestId& request, const OwnerToken& owner, Instant now) const = 0;
  virtual Result<bool> IsRevoked(const RequestId& request, const OwnerToken& owner, Instant now) const = 0;
};

// The JSON forms of the records of a RequestIndex.

struct KeptRequest {
  RequestId id;
  RequestRecord record;
  Instant written{};  // by the writer's clock; 1970: unknown
};
// Ids, adopters and runs may contain any bytes. In JSON, each '%' and each byte that is not a printable ASCII character
// is written as three characters: "%0A".
std::string ToJson(const KeptRequest& kept);
Result<KeptRequest> KeptRequestFromJson(std::string_view text);

std::string RevocationToJson(Instant until);
Result<Instant> RevocationFromJson(std::string_view text);

// A request index that is kept in records, for a user whose machines share neither a disk nor a lock.

// The state of a job that is named in a record of the index.
enum class JobPresence {
  // The job was removed, or it was given up before it was made.
  kNone,
  // The job is coming: all its parts exist, except the record that makes them a job.
  kComing,
  kMade,
};
struct RequestPlace {
  std::shared_ptr<const RecordStore> store;
  // Makes `folder` in the store, and the folders above it, if they are missing.
  std::function<Status(const std::string& folder)> make;
  std::function<Result<JobPresence>(const JobId& job)> look;
  // Ensures that a coming job is never made, whatever its submit does. Returns false if the job is made already.
  std::function<Result<bool>(const JobId& job)> give_up;
  // The index of an earlier release. It is read if the records do not know a request. May be null.
  std::shared_ptr<const RequestIndex> older;
};

// The records of a request whose id has the SHA-256 ab12... are in the folder "ab" of the store:
//
//   12....1.json                 the first RequestRecord, and the id itself
//   12....2.json                 the next one; the record with the highest number counts
//   12....revoked-<sha256>.json  the revocation of an owner, with the time when it expires
//
// A writer that has read number n writes number n + 1, unless that exists. Therefore each record is derived from its
// predecessor, and no lock is needed.
//
// A record is removed if a record with a higher number exists. All records of a request are removed together, lowest
// number first. Such a removal may run at the same time as a write. Therefore a writer of n + 1 that finds n removed
// removes its own record, and reads again. A writer of 1 that finds a higher number leaves its record to the next
// sweep, and reads again.
//
// A record names a job before the job is made. The next submit sees that the job is coming, and may wait for it. If the
// job does not come, that submit gives it up, and only then writes a record without it.
class RecordRequestIndex : public RequestIndex {
 public:
  explicit RecordRequestIndex(RequestPlace place) : place_(std::move(place)) {}

  Result<std::unique_ptr<RequestLock>> Lock(const RequestId& request, Duration limit) const override;
  Result<std::optional<RequestRecord>> Read(const RequestId& request) const override;
  Result<bool> Write(const RequestId& request, const RequestRecord& record) const override;
  Status Revoke(const RequestId& request, const OwnerToken& owner, Instant now) const override;
  Result<bool> IsRevoked(const RequestId& request, const OwnerToken& owner, Instant now) const override;
  // Removes requests under the same conditions as LocalRequestIndex::Sweep(), and also each record that a higher one
  // has replaced.
  Result<int> Sweep(Instant before, Instant now, bool dry_run) const;

 private:
  struct Kept;  // the records of one request
  using KeptByName = std::map<std::string, Kept>;

  Result<KeptByName> List(const std::string& folder) const;
  Result<int64_t> Newest(const std::string& name) const;  // 0: the request has no record
  Result<RequestRecord> EffectiveRecord(RequestRecord record) const;
  Result<bool> Put(const std::string& name, int64_t number, std::string_view text) const;
  Result<bool> Counts(const std::string& name, const Kept& kept, Instant before) const;
  Result<bool> SweepOne(const std::string& name, const Kept& kept, Instant before, Instant now, bool dry_run) const;

  const RequestPlace place_;
};

}  // namespace tony
