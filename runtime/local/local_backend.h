// The backend that runs jobs on this machine, without a cluster manager.
#pragma once

#include "runtime/backend/backend.h"

namespace tony {

const Backend& LocalBackend();

}  // namespace tony
