// Whether this machine can run a job at all, asked before anything is staged or started.
#pragma once

#include <string>
#include <vector>

#include "runtime/backend/health.h"
#include "runtime/backend/queue_view.h"
#include "runtime/base/result.h"
#include "runtime/job/job_spec.h"

namespace tony {

// For submit. kInvalid: the job asks for more than the machine has, or there is no place for the ledger. kUnavailable:
// this process may have too few open files (ulimit -n) or processes (-u) for a job of so many tasks. kNotPermitted: in
// this user namespace a job's processes could not tell their user from strangers. Otherwise what a person should know
// of the ledger, in lines: that it is private, that machine.json is not understood.
Result<std::vector<std::string>> CheckMachine(const JobSpec& spec);

// For plan, which makes nothing: the refusals that do not depend on this process.
Status CheckMachineForPlan(const JobSpec& spec);

// What `tony doctor` looks at of this machine. Only looks: it makes and removes nothing.

// The ledger, the machine and the jobs in it; then the limits of this user and this system.
Checks CheckMachineHealth();

// The machine's ledger, for `tony list --queue`.

Result<QueueView> LookAtQueue();

}  // namespace tony
