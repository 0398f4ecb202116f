// Looks for the newest checkpoint without holding the loop: the directory may be on a file system that hangs.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/job/checkpoint.h"
#include "runtime/job/job_spec.h"

namespace tony::am {

// Loop thread only.
class CheckpointLook {
 public:
  using Found = std::function<void(const Result<std::optional<Checkpoint>>&)>;

  CheckpointLook(EventLoop& loop, CheckpointSpec spec);
  ~CheckpointLook();  // a look that has not come back is forgotten; its thread may live until the file system answers

  void Begin(Found found);  // called on the loop

 private:
  struct Shared;
  const CheckpointSpec spec_;
  std::shared_ptr<Shared> shared_;
};

}  // namespace tony::am
