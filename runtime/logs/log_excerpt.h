// A log of which only parts are here, in memory: the rest reads as what has been cut out.
#pragma once

#include <memory>

#include "runtime/job/log_pieces.h"
#include "runtime/logs/log_source.h"

namespace tony {

// The excerpt outlives the stream.
std::unique_ptr<LogStream> LogOf(const LogExcerpt& excerpt);

}  // namespace tony
