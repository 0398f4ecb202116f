// Makes the application that the ResourceManager runs for a job: its application master (AM).
#pragma once

#include <optional>
#include <set>
#include <string>

#include "runtime/backend/backend_values.h"
#include "runtime/base/result.h"
#include "runtime/hadoop/yarn_clients.h"
#include "runtime/job/job_spec.h"
#include "runtime/records/job_records.h"
#include "runtime/yarn/yarn_cluster.h"

namespace tony {

// Returns the application for a job. Only the job's records are used, so a repeated submit sends an equal request.
Result<hadoop::Submission> SubmissionOf(const YarnCluster& cluster, const JobRecords& records);

// The declarations below need only the spec of a job, because some callers only show what would be submitted.
inline constexpr char kMasterProgram[] = "tony-yarn-am";
// Returns the tags in the form in which the ResourceManager keeps them.
std::set<std::string> TagsOf(const JobSpec& spec);
// Returns how long YARN lets the job run: the job's timeout, and the time that the AM then needs to end the job.
// nullopt: the job has no timeout.
std::optional<Duration> LifetimeOf(const JobSpec& spec);

// Lists what a submit to a cluster would request, ship and start. Reads the sizes of our own programs, and contacts no
// server.

// Returns the list. kNotFound: one of our programs is not in the folder of this program.
Result<PlannedSteps> PlanOnYarn(const YarnCluster& cluster, const JobSpec& spec);

}  // namespace tony
