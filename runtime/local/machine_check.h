// Checks whether this machine can run a job, before anything is staged or started.
#pragma once

#include <string>
#include <vector>

#include "runtime/backend/health.h"
#include "runtime/backend/queue_view.h"
#include "runtime/base/result.h"
#include "runtime/job/job_spec.h"

namespace tony {

// The check for submit. kInvalid: the job requests more than the machine has, or the ledger has no place. kUnavailable:
// the limit of open files (ulimit -n) or processes (-u) is too low for the number of tasks, or the job would have to
// wait although a task of another job submits it. kNotPermitted: in this user namespace a job's processes could not
// distinguish their user from others. Otherwise the result has notes for people, one per line, e.g. that the ledger is
// private or that machine.json cannot be used.
Result<std::vector<std::string>> CheckMachine(const JobSpec& spec);

// The check for plan, which makes nothing: only the refusals that do not depend on this process.
Status CheckMachineForPlan(const JobSpec& spec);

// The checks of `tony doctor` for this machine. They only read: nothing is made or removed.

// Checks the ledger, the machine and its jobs, and then the limits of this user and this system.
Checks CheckMachineHealth();

// The ledger of the machine, for `tony list --queue`.

Result<QueueView> LookAtQueue();

}  // namespace tony
