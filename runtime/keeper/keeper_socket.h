// keeper.sock in a job's folder: where the keeper listens and the AM connects.
#pragma once

#include <optional>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "runtime/records/job_records.h"

namespace tony {

// A name left by an earlier keeper is replaced: the caller holds keeper.lock.
Result<UniqueFd> ListenAsKeeper(const JobRecords& records);
// Never block. kUnavailable: nobody listens. Nothing, or kUnavailable as well: the keeper lives, and its queue is full.
Result<std::optional<UniqueFd>> ReachKeeper(const JobRecords& records);
Result<UniqueFd> ConnectToKeeper(const JobRecords& records);
void RemoveKeeperSocket(const JobRecords& records);

}  // namespace tony
