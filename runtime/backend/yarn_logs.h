// The logs of a job on YARN, of which no program but the executors' sees the files: yarn_log_reader.h.
#pragma once

#include <memory>
#include <string>

#include "runtime/backend/yarn_log_reader.h"
#include "runtime/logs/log_source.h"

namespace tony {

// One thread. The arbiter outlives it. Reading waits for the job's master, for HDFS, or for a node, some seconds at
// most.
std::unique_ptr<LogSource> MakeYarnLogs(JobRecords records, const Arbiter& arbiter);

}  // namespace tony
