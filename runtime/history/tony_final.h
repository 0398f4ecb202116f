// tony-final.xml: what TonY's portal shows as a job's configuration, and what Dr. Elephant reads its requests from.
// Pure.
#pragma once

#include <string>

#include "runtime/config/configuration.h"
#include "runtime/job/ids.h"
#include "runtime/job/job_spec.h"

namespace tony {

// All tony.* values of `configuration`; of each role of the job what it really has, if that was not set by these keys
// (a job without roles, one of an earlier release); and tony.job.id, by which a reader of old files finds ours.
std::string TonyFinalXml(const Configuration& configuration, const JobSpec& spec, const JobId& job);

}  // namespace tony
