// This machine, without a cluster's manager.
#pragma once

#include "runtime/backend/backend.h"

namespace tony {

const Backend& LocalBackend();

}  // namespace tony
