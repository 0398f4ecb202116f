// Which machine this is, and which run of it: processes and locks end with a run, files do not.
#pragma once

#include <string>

#include "runtime/base/time.h"

namespace tony {

std::string HostName();
std::string BootId();           // the kernel's, anew at each start of the machine; "" where it does not tell
Instant BootTime(Instant now);  // when this run began

}  // namespace tony
