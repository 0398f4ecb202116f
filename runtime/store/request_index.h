// What is known under request ids on this machine: $TONY_HOME/requests/<sha256 of the id>/.
//
//   record.json            RequestRecord, and the id itself; written by rename, under the lock
//   lock                   held by the submit that decides; freed by its death
//   revoked-<sha256>.json  an owner that was told to stop, and until when that counts; written without the lock
//
// Ids are any bytes but NUL, 1 to 4096; they are hashed for the folder's name and compared whole. A file that cannot be
// understood is an error that names it, never as good as none: the next submit would make a second job.
#pragma once

#include <filesystem>
#include <optional>

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/base/unique_fd.h"
#include "runtime/job/claim.h"
#include "runtime/request/submit_course.h"

namespace tony {

constexpr Duration kRevocationLasts{600'000};

class RequestIndex {
 public:
  explicit RequestIndex(std::filesystem::path home) : home_(std::move(home)) {}

  // kUsage says what is wrong with an id. The others but Sweep() check it, too.
  static Status CheckId(const RequestId& request);

  // Waits, at most `limit`: kUnavailable then. Held until the descriptor is closed, copies of it in forked children
  // included.
  Result<UniqueFd> Lock(const RequestId& request, Duration limit) const;
  // As it counts: a job whose folder was never made does not hide the one before. Nothing: never heard of.
  Result<std::optional<RequestRecord>> Read(const RequestId& request) const;
  Status Write(const RequestId& request, const RequestRecord& record) const;            // durable, by rename
  Status Revoke(const RequestId& request, const OwnerToken& owner, Instant now) const;  // durable
  Result<bool> IsRevoked(const RequestId& request, const OwnerToken& owner, Instant now) const;
  // Removes what no longer counts: revocations that have expired, records whose job is gone and that were not touched
  // since `before`. Returns how many requests were forgotten. What is locked, or damaged, stays; the log names the
  // latter.
  Result<int> Sweep(Instant before, Instant now, bool dry_run) const;

 private:
  std::filesystem::path Folder(const RequestId& request) const;
  bool HasFolder(const JobId& job) const;
  Result<bool> SweepOne(const std::filesystem::path& folder, Instant before, Instant now, bool dry_run) const;
  Result<bool> RecordCounts(const std::filesystem::path& folder, Instant before) const;

  std::filesystem::path home_;
};

}  // namespace tony
