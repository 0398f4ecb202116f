#include "runtime/records/checkpoint_place.h"

#include "runtime/records/local_job_store.h"

namespace tony {

CheckpointPlace CheckpointsOnThisMachine(const std::filesystem::path& home, const CheckpointSpec& spec) {
  return {.folder = std::make_shared<LocalCheckpointFolder>(spec.directory),
          .holders = std::make_shared<LocalCheckpointHolders>(home),
          .find_job = [home](const JobId& job) { return LocalJobStore(home).Find(job); }};
}

}  // namespace tony
