// The files of a job's history in HDFS, for TonY's portal and Dr. Elephant: history/README.md. Its master writes them,
// as TonY's did; whoever settles a job writes the end of one whose master has not.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runtime/base/result.h"
#include "runtime/job/job_spec.h"
#include "runtime/records/files_for_others.h"
#include "runtime/records/job_records.h"
#include "runtime/yarn/yarn_cluster.h"

namespace tony {

// Each does nothing for a job whose history is not in HDFS. They wait for it, 10 s at most a call; what goes wrong is a
// line in the log, as it costs the job nothing.
void BeginHistoryInHdfs(const YarnCluster& cluster, const JobRecords& records);
void FinishHistoryInHdfs(const YarnCluster& cluster, const JobRecords& records);

// What can write into the folder of a history: HDFS, or this machine where the folder is of no HDFS. kInvalid: another
// HDFS.
Result<std::shared_ptr<const FilesForOthers>> FilesOfHistory(const YarnCluster& cluster, const std::string& folder);

// For a client, before the job: why no history will come of it, as far as can be told; nothing: there will be one, or
// none was asked for.
std::optional<std::string> WhyNoHistory(const YarnCluster& cluster, const JobSpec& spec);

}  // namespace tony
