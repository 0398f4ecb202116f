// All that a look at a job's checkpoints asks: where they are, which job has the folder, and what other jobs were.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "runtime/base/result.h"
#include "runtime/job/job_spec.h"
#include "runtime/records/checkpoint_folder.h"
#include "runtime/records/checkpoint_holder.h"
#include "runtime/records/job_records.h"

namespace tony {

struct CheckpointPlace {
  std::shared_ptr<const CheckpointFolder> folder;
  std::shared_ptr<const CheckpointHolders> holders;
  std::function<Result<JobRecords>(const JobId& job)> find_job;  // of the same user
};

CheckpointPlace CheckpointsOnThisMachine(const std::filesystem::path& home, const CheckpointSpec& spec);

}  // namespace tony
