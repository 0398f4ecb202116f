// When a job is over, in words for people.
#pragma once

#include <string>
#include <vector>

#include "runtime/job/job_spec.h"

namespace tony {

// A line for each role, and one more where it is TonY's rule:
// "role shard (tracked): over when 97 of 100 tasks have succeeded; 4 failures fail the job".
std::vector<std::string> CompletionLines(const JobSpec& spec);

}  // namespace tony
