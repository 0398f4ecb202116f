// What `tony doctor --yarn` says: what of the cluster that is configured stands in the way of this user's jobs, and
// what mends it.
#pragma once

#include "runtime/backend/health.h"

namespace tony {

// Waits for the daemons, two seconds a call and ten for a write. A file with an extended attribute is really written
// into the user's home folder in HDFS, read, and removed; and an application id is taken, which the ResourceManager
// counts.
Checks CheckYarnHealth();

}  // namespace tony
