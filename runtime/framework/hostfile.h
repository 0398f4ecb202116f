// The machines of a job, for what starts processes on them by itself: MPI's mpirun --hostfile, deepspeed --hostfile.
#pragma once

#include <string>

#include "runtime/job/cluster_spec.h"
#include "runtime/job/job_spec.h"

namespace tony {

// Lines of "HOST slots=N", each host once, in the order of GlobalRank(). A task has as many slots as GPUs, without GPUs as
// cores, and never fewer than processes. Only tracked tasks count. Open MPI and DeepSpeed read it so; MPICH wants HOST:N.
std::string Hostfile(const JobSpec& spec, const ClusterSpec& cluster);

}  // namespace tony
