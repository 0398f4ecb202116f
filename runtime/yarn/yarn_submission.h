// What the ResourceManager is asked to run for a job: its application master.
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

// Of the job's records alone: whoever repeats a submit asks for the same.
Result<hadoop::Submission> SubmissionOf(const YarnCluster& cluster, const JobRecords& records);

// Of it alone, for who tells what would be submitted.
inline constexpr char kMasterProgram[] = "tony-yarn-am";
std::set<std::string> TagsOf(const JobSpec& spec);  // as the ResourceManager keeps them
// What YARN is told of the job's timeout. Its master keeps that, and has so long to end the job by it.
std::optional<Duration> LifetimeOf(const JobSpec& spec);

// What a submit to a cluster would ask, ship and start. Looks at the sizes of our own programs, and asks nobody.

// kNotFound: one of our programs is not beside this one.
Result<PlannedSteps> PlanOnYarn(const YarnCluster& cluster, const JobSpec& spec);

}  // namespace tony
