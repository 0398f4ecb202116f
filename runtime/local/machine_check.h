// Checks whether this machine can run a job, before anything is staged or started.
#pragma once

#include <string>
#include <vector>

#include "runtime/backend/health.h"
#include "runtime/backend/queue_view.h"
#include "runtime/base/result.h"
#include "runtime/job/job_spec.h"

namespace tony {

// Checks the job for `tony submit`. The result contains notes for people, one per line, e.g. that the ledger is private
// or that machine.json cannot be used. Errors:
// kInvalid: the job requests more than the machine has, or the ledger has no folder.
// kUnavailable: the limit of open files (ulimit -n) or of processes (ulimit -u) is too low for the number of tasks.
// Also kUnavailable if a task of another job submits this job, and this job would have to wait.
// kNotPermitted: in this user namespace a job's processes could not distinguish their user from others.
Result<std::vector<std::string>> CheckMachine(const JobSpec& spec);

// Lowers RoleSpec::max_parallel to what this machine can hold for this user.
Status LimitToThisMachine(JobSpec& spec);

// Checks the job for `tony plan`, and creates nothing. Errors that depend on the limits of this process are not
// returned.
Status CheckMachineForPlan(const JobSpec& spec);

// The checks of `tony doctor` for this machine. They only read, and create or remove nothing.

// Checks the ledger, the machine and its jobs, and then the limits of this user and this system.
Checks CheckMachineHealth();

// Returns the state of the machine's ledger, for `tony list --queue`.

Result<QueueView> LookAtQueue();

}  // namespace tony
