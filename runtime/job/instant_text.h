// Reads what ToIso8601 writes.
#pragma once

#include <optional>
#include <string_view>

#include "runtime/base/time.h"

namespace tony {

// Exactly the form "2026-11-21T09:30:15.123Z"; anything else, and a date that does not exist, is nothing.
std::optional<Instant> InstantFromIso8601(std::string_view text);

}  // namespace tony
