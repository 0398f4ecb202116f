// The processes that a timed-out collective waited for in vain, as its report names them.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "runtime/job/job_spec.h"

namespace tony::am {

// "Ranks 1, 3 failed to pass monitoredBarrier in 1000 ms" -> {1, 3}. NCCL's list of ranks that are behind, and the
// ranks that gloo's and torch's rendezvous wait for, are understood as well. Empty: it names none.
std::vector<int> SilentRanks(std::string_view text);

// The task whose processes have this rank of torch.distributed, which counts over those of all tracked tasks.
std::optional<TaskId> TaskOfRank(const JobSpec& spec, int rank);

}  // namespace tony::am
