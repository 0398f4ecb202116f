// keeper.sock in a job's folder: where the keeper listens and the AM connects.
#pragma once

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "runtime/store/job_records.h"

namespace tony {

// A name left by an earlier keeper is replaced: the caller holds keeper.lock.
Result<UniqueFd> ListenAsKeeper(const JobRecords& records);
Result<UniqueFd> ConnectToKeeper(const JobRecords& records);  // kUnavailable; never blocks
void RemoveKeeperSocket(const JobRecords& records);

}  // namespace tony
