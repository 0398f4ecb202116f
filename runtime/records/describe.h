// A decision as a person reads it. Pure.
#pragma once

#include <string>

#include "runtime/records/decisions.h"

namespace tony {

// Who or what it is about, without its name and time: "worker:0#1 in 1-1 on 127.0.0.1". May be empty.
std::string Describe(const Decision& decision);

// One line: seconds since `start`, time, name, description.
std::string EventLine(const Decision& decision, Instant start);

// "exit code 3, user_error, out of memory": how it ended, in one line.
std::string Describe(const Outcome& outcome);

}  // namespace tony
