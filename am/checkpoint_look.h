// Looks into the checkpoint directory without holding the loop: it may be on a file system that hangs.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "am/checkpoint_listing.h"
#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/job/checkpoint.h"
#include "runtime/job/job_spec.h"
#include "runtime/records/checkpoint_place.h"

namespace tony::am {

// Loop thread only.
class CheckpointLook {
 public:
  using Listed = std::function<void(const FirstLook&)>;
  using Found = std::function<void(const Result<std::optional<Checkpoint>>&)>;

  CheckpointLook(EventLoop& loop, CheckpointPlace place, Submission submission, CheckpointSpec spec);
  ~CheckpointLook();  // a look that has not come back is forgotten; its thread may live until the file system answers

  void List(Listed listed);                                   // LookFirst()
  void Begin(const CheckpointListing& listing, Found found);  // LookAgain()

 private:
  struct Shared;
  template <class Look, class Done>
  void Run(Look look, Done done);

  const CheckpointPlace place_;
  const Submission submission_;
  const CheckpointSpec spec_;
  std::shared_ptr<Shared> shared_;
};

}  // namespace tony::am
