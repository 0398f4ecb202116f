// The application master's side of the fake cluster; it grants every request. The executors are the real ones. They
// live on when the master dies, and the next master finds them by the files in `granted`.
#pragma once

#include <memory>

#include "runtime/local/local_scheduler.h"

namespace tony::cluster {

std::unique_ptr<Scheduler> MakeFakeScheduler(MasterSide side);

}  // namespace tony::cluster
