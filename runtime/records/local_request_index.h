// What is known under request ids on this machine.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "runtime/records/request_index.h"

namespace tony {

// On this machine: $TONY_HOME/requests/<sha256 of the id>/.
//
//   record.json            RequestRecord, and the id itself; written by rename
//   lock                   the descriptor of a lock counts, copies of it in forked children included
//   revoked-<sha256>.json  an owner, and until when its revocation counts
class LocalRequestIndex : public RequestIndex {
 public:
  // `is_there`: whether there is such a job; as it comes, whether there is a folder of it in $TONY_HOME/jobs.
  using IsThere = std::function<Result<bool>(const JobId& job)>;
  explicit LocalRequestIndex(std::filesystem::path home, IsThere is_there = nullptr)
      : home_(std::move(home)), is_there_(std::move(is_there)) {}

  Result<std::unique_ptr<RequestLock>> Lock(const RequestId& request, Duration limit) const override;
  Result<std::optional<RequestRecord>> Read(const RequestId& request) const override;
  Result<bool> Write(const RequestId& request, const RequestRecord& record) const override;
  Status Revoke(const RequestId& request, const OwnerToken& owner, Instant now) const override;
  Result<bool> IsRevoked(const RequestId& request, const OwnerToken& owner, Instant now) const override;
  // Removes what no longer counts: revocations that have expired, records whose job is gone and that were not touched
  // since `before`. Returns how many requests were forgotten. What is locked, or damaged, stays; the log names the
  // latter.
  Result<int> Sweep(Instant before, Instant now, bool dry_run) const;

 private:
  std::filesystem::path Folder(const RequestId& request) const;
  Result<bool> IsMade(const JobId& job) const;
  Result<bool> SweepOne(const std::filesystem::path& folder, Instant before, Instant now, bool dry_run) const;
  Result<bool> RecordCounts(const std::filesystem::path& folder, Instant before) const;

  std::filesystem::path home_;
  IsThere is_there_;
};

}  // namespace tony
