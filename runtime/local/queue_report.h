// The machine's ledger, for `tony list --queue`.
#pragma once

#include "runtime/backend/queue_view.h"
#include "runtime/base/result.h"

namespace tony {

Result<QueueView> LookAtQueue();

}  // namespace tony
