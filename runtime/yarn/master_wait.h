// Why an application has no master yet, of a ResourceManager's report on it, for people. Pure.
#pragma once

#include <string>

#include "runtime/hadoop/rm_client.h"

namespace tony {

// "waits for its master: queue ml has no more room for masters, ..."; empty: its master runs, or it has ended. The
// words are the CapacityScheduler's in our terms; what is not known of them is told as it stands.
std::string WhyMasterWaits(const hadoop::ApplicationReport& report);

}  // namespace tony
