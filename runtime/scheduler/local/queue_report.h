// The machine's ledger, for `tony list --queue`.
#pragma once

#include "runtime/base/result.h"
#include "runtime/scheduler/queue_view.h"

namespace tony {

Result<QueueView> LookAtQueue();

}  // namespace tony
