// Staging as a part of `tony submit`: beside the event loop, so that a person sees how far it is and may stop it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/backend/backend.h"
#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/client/watch_job.h"
#include "runtime/job/job_spec.h"
#include "runtime/records/job_store.h"
#include "runtime/records/staged_files.h"
#include "runtime/staging/stage.h"

namespace tony {

struct StagedForJob {
  std::optional<StagedStore> store;  // to be kept until the job is recorded; nothing: the job has no files
  StagedFiles files;
  int signal = 0;  // a signal stopped it, and nothing was staged
};

// Runs `loop` until all is staged or has failed.
Result<StagedForJob> StageFiles(EventLoop& loop, Interrupts& interrupts, const Backend& backend,
                                const ParsedJobSpec& job);

// Prints on standard error what of src_dir goes to the tasks and what does not, and warnings.
void SayStaged(const StagedFiles& files);

// JobStore::Lay() in the same way; nothing: a signal stopped it, and nothing was laid.
struct LaidJob {
  std::optional<NewJob> job;
  int signal = 0;
};
Result<LaidJob> LayJob(EventLoop& loop, Interrupts& interrupts, const JobStore& jobs, NewJob job);

// "staging src_dir /x: 0.3 of 4.1 GB".
std::string ProgressLine(std::string_view doing, const StageProgress& progress);

}  // namespace tony
