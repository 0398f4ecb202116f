// The request ids that were used on this machine, with their records.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "runtime/records/request_index.h"

namespace tony {

// LocalRequestIndex has a folder for each request id: $TONY_HOME/requests/<sha256 of the id>/.
//
//   record.json            the RequestRecord, and the id itself; written by rename
//   lock                   locked until the descriptor and its copies in forked children are closed
//   revoked-<sha256>.json  the revocation of the owner with this hash, with the time when it expires
class LocalRequestIndex : public RequestIndex {
 public:
  // Returns whether a job exists. By default, a job exists if its folder is in $TONY_HOME/jobs.
  using IsThere = std::function<Result<bool>(const JobId& job)>;
  explicit LocalRequestIndex(std::filesystem::path home, IsThere is_there = nullptr)
      : home_(std::move(home)), is_there_(std::move(is_there)) {}

  Result<std::unique_ptr<RequestLock>> Lock(const RequestId& request, Duration limit) const override;
  Result<std::optional<RequestRecord>> Read(const RequestId& request) const override;
  Result<bool> Write(const RequestId& request, const RequestRecord& record) const override;
  Status Revoke(const RequestId& request, const OwnerToken& owner, Instant now) const override;
  Result<bool> IsRevoked(const RequestId& request, const OwnerToken& owner, Instant now) const override;
  // Removes expired revocations. Also removes records that were last written before `before` and whose job was removed.
  // Returns how many requests were removed completely. Locked or damaged requests stay; the log names the damaged ones.
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
