// The master's side of the fake cluster: grants whatever is asked for. The executors are the real ones; they live on
// when the master dies, and the next one finds them by the files in `granted`.
#pragma once

#include <memory>

#include "runtime/local/local_scheduler.h"

namespace tony::cluster {

std::unique_ptr<Scheduler> MakeFakeScheduler(MasterSide side);

}  // namespace tony::cluster
