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
  // True if the job `by` is being ended, so the folder will soon be free.
  bool ending = false;
};
using FirstLook = std::variant<CheckpointListing, FolderInUse>;

// LookFirst() and LookAgain() read files and may block, so they must not be called on the loop.
//
// LookFirst() reserves the directory for the job and lists it, before any task has started. If the previous job in the
// directory had the same request id and submission number and did not succeed, the listing continues that job's
// listing.
FirstLook LookFirst(const CheckpointPlace& place, const Submission& submission, const CheckpointSpec& spec);

// Returns the result of NewestCheckpoint(), or an error if another job has reserved the directory. With `resume_latest`
// the reservation does not matter.
Result<std::optional<Checkpoint>> LookAgain(const CheckpointPlace& place, const JobId& job, const CheckpointSpec& spec,
                                            const CheckpointListing& listing);

// Reads the checkpoint directory in a separate thread, so that the loop is not blocked. Loop thread only.
class CheckpointReader {
 public:
  using Listed = std::function<void(const FirstLook&)>;
  using Found = std::function<void(const Result<std::optional<Checkpoint>>&)>;

  CheckpointReader(EventLoop& loop, CheckpointPlace place, Submission submission, CheckpointSpec spec);
  // Forgets a search that has not finished. The search's thread may live until the file system answers.
  ~CheckpointReader();

  // Runs LookFirst() in a thread, and calls `listed` with the result.
  void List(Listed listed);
  // Runs LookAgain() in a thread, and calls `found` with the result.
  void Begin(const CheckpointListing& listing, Found found);

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
