// What the AM finds in the checkpoint directory. It reads files and may block: not on the loop.
#pragma once

#include <optional>
#include <variant>

#include "runtime/base/result.h"
#include "runtime/job/checkpoint.h"
#include "runtime/job/job_spec.h"
#include "runtime/records/checkpoint_place.h"
#include "runtime/records/job_records.h"

namespace tony::am {

struct FolderInUse {
  JobId by;
  bool ending = false;  // it is being ended: its folder is free soon
};
using FirstLook = std::variant<CheckpointListing, FolderInUse>;

// Takes the directory for the job and lists it, before any task has started. Where the job that had it last was one of
// the same request id and submission number, and did not succeed, the listing goes on from that one's.
FirstLook LookFirst(const CheckpointPlace& place, const Submission& submission, const CheckpointSpec& spec);

// NewestCheckpoint(), as long as the directory is still this job's.
Result<std::optional<Checkpoint>> LookAgain(const CheckpointPlace& place, const JobId& job, const CheckpointSpec& spec,
                                            const CheckpointListing& listing);

}  // namespace tony::am
