// The AM's view of the checkpoint directory, which may be on a file system that hangs.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <variant>

#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/job/checkpoint.h"
#include "runtime/job/job_spec.h"
#include "runtime/records/checkpoints.h"
#include "runtime/records/job_records.h"

namespace tony::am {

struct FolderInUse {
  JobId by;
  // The job is being ended, so the folder is free soon.
  bool ending = false;
};
using FirstLook = std::variant<CheckpointListing, FolderInUse>;

// LookFirst() and LookAgain() read files and may block: they are not called on the loop.
//
// Takes the directory for the job and lists it, before any task has started. Where the job that had it last was one of
// the same request id and submission number, and did not succeed, the listing goes on from that one's.
FirstLook LookFirst(const CheckpointPlace& place, const Submission& submission, const CheckpointSpec& spec);

// NewestCheckpoint(), as long as the directory is still this job's.
Result<std::optional<Checkpoint>> LookAgain(const CheckpointPlace& place, const JobId& job, const CheckpointSpec& spec,
                                            const CheckpointListing& listing);

// Looks into the checkpoint directory without holding the loop. Loop thread only.
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
