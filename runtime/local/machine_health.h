// What `tony doctor` looks at of this machine. Only looks: it makes and removes nothing.
#pragma once

#include "runtime/backend/health.h"

namespace tony {

// The ledger, the machine and the jobs in it; then the limits of this user and this system.
Checks CheckMachineHealth();

}  // namespace tony
