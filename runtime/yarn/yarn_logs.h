// The logs of a job on YARN, of which no program but the executors' sees the files: yarn_log_reader.h.
#pragma once

#include <memory>
#include <string>

#include "runtime/backend/arbiter.h"
#include "runtime/logs/log_source.h"
#include "runtime/yarn/yarn_log_reader.h"

namespace tony {

// One thread. Reading waits for the job's master, for HDFS, or for a node, some seconds at most.
// The arbiter outlives it.
std::unique_ptr<LogSource> MakeYarnLogs(JobRecords records, const Arbiter& arbiter,
                                        YarnLogReader::FetchMoved fetch_moved);
// While its master runs, as that has them: nothing has been moved.
std::unique_ptr<LogSource> MakeYarnLogs(JobRecords records, FindMaster find);

}  // namespace tony
