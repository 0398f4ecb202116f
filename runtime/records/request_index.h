// What is known under request ids, in one backend. Seam: LocalRequestIndex, and RecordRequestIndex for clusters.
// Ids are any bytes but NUL, 1 to 4096; they are compared whole. A record that cannot be understood is an error that
// names it, never as good as none: the next submit would make a second job.
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

// The text forms of what RequestIndex keeps.

struct KeptRequest {
  RequestId id;
  RequestRecord record;
  Instant written{};  // by the writer's clock; the epoch: not told
};
// In the texts of ids, adopters and runs, which are any bytes, each byte that is no printable ASCII character, and each
// '%', is three characters: "%0A".
std::string ToJson(const KeptRequest& kept);
Result<KeptRequest> KeptRequestFromJson(std::string_view text);

std::string RevocationToJson(Instant until);
Result<Instant> RevocationFromJson(std::string_view text);

// What is known under request ids where the user's machines share no disk and no lock: in records.

// What the records of an index speak of.
enum class JobPresence {
  kNone,    // it was removed, or given up before it was made
  kComing,  // all of it is there but what makes it a job
  kMade,
};
struct RequestPlace {
  std::shared_ptr<const RecordStore> store;
  std::function<Status(const std::string& folder)> make;  // in the store, if it is not there; with those above it
  std::function<Result<JobPresence>(const JobId& job)> look;
  // One that is coming: it never comes from now on, whatever its submit does. False: it was made.
  std::function<Result<bool>(const JobId& job)> give_up;
  // Of an earlier release; read where the records know nothing of a request. May be null.
  std::shared_ptr<const RequestIndex> older;
};

// Of a request whose id has the SHA-256 ab12...: in the folder "ab" of the store
//
//   12....1.json                 the first RequestRecord, and the id itself
//   12....2.json                 the next; the highest counts
//   12....revoked-<sha256>.json  an owner, and until when its revocation counts
//
// Whoever has read number n writes number n + 1, unless it is there: so each record follows from the one before, and
// nobody needs a lock. A record is only ever removed when a higher one is there, or all of a request with it, lowest
// first. Who writes n + 1 while that goes on finds that n is gone, takes the own one back and reads again; who writes 1
// and finds a higher one reads again.
//
// A record names a job before that is made. The next submit sees it coming, and may wait for it; if it does not come,
// it gives it up, and only then writes a record without it.
class RecordRequestIndex : public RequestIndex {
 public:
  explicit RecordRequestIndex(RequestPlace place) : place_(std::move(place)) {}

  Result<std::unique_ptr<RequestLock>> Lock(const RequestId& request, Duration limit) const override;
  Result<std::optional<RequestRecord>> Read(const RequestId& request) const override;
  Result<bool> Write(const RequestId& request, const RequestRecord& record) const override;
  Status Revoke(const RequestId& request, const OwnerToken& owner, Instant now) const override;
  Result<bool> IsRevoked(const RequestId& request, const OwnerToken& owner, Instant now) const override;
  // As LocalRequestIndex::Sweep(); also records that no longer count because a higher one is there.
  Result<int> Sweep(Instant before, Instant now, bool dry_run) const;

 private:
  struct Kept;  // what there is of one request
  using KeptByName = std::map<std::string, Kept>;

  Result<KeptByName> List(const std::string& folder) const;
  Result<int64_t> Newest(const std::string& name) const;  // 0: there is none
  Result<RequestRecord> AsItCounts(RequestRecord record) const;
  Result<bool> Put(const std::string& name, int64_t number, std::string_view text) const;
  Result<bool> Counts(const std::string& name, const Kept& kept, Instant before) const;
  Result<bool> SweepOne(const std::string& name, const Kept& kept, Instant before, Instant now, bool dry_run) const;

  const RequestPlace place_;
};

}  // namespace tony
