// claim.json: what the AM has told others of the job's owner and watchers, for the keeper of a job whose journal nobody
// can read. The AM writes it before it tells anybody, so it is never older than what a caller was told; where it cannot
// be written it is removed. Only the file of the AM that wrote the lease record last counts.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/records/job_records.h"

namespace tony {

struct ClaimRecord {
  Epoch epoch;                       // of the AM that wrote it
  Claim claim;                       // the newest
  WatcherToken watcher;              // the newest that has looked
  std::vector<KillRequest> planned;  // and not void; `due` by the clock of this process
  bool operator==(const ClaimRecord&) const = default;
};

Status WriteClaimRecord(const JobRecords& records, const ClaimRecord& record);  // by rename
Status RemoveClaimRecord(const JobRecords& records);                            // harmless if there is none
// kNotFound: no AM has written one, or the newest that ruled has not. kInvalid: it is not what an AM writes.
Result<ClaimRecord> ReadClaimRecord(const JobRecords& records);

std::string ToJson(const ClaimRecord& record);
Result<ClaimRecord> ClaimRecordFromJson(std::string_view json);

}  // namespace tony
