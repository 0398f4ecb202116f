// Puts a job's files into the user's store of staged content, before there is a job: what cannot be used is refused
// while nothing has been started. README.md says what becomes of each kind of source.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/job/job_spec.h"
#include "runtime/records/staged_files.h"
#include "runtime/staging/limits.h"
#include "runtime/staging/stage_meter.h"
#include "runtime/staging/staged_store.h"

namespace tony {

bool NeedsStaging(const JobSpec& spec);

// The report of Stage() on src_dir, which is listed and not read. Errors as there.
struct PlannedSources {
  SourceSummary summary;
  std::vector<std::string> warnings;
};
Result<PlannedSources> PlanSources(const JobSpec& spec, const std::filesystem::path& home, bool as_tony);

// What there is of a source in a cluster's file system: the file, or those that are in the folder. Errors do not name
// the source.
using LookAtRemote = std::function<Result<std::vector<RemoteFile>>(const FileSpec&)>;
Result<std::vector<RemoteFile>> NoRemoteFiles(const FileSpec&);  // where there is no cluster: kInvalid

// `as_tony`: as SourcesOf(). Blocks until all is there; `watch` and `look` are called on this thread, `look` first.
// Content that the store has is not copied again. The entries stay for certain as long as `store` lives, so a job that
// refers to them must be recorded by then.
//
// Errors name the source: kInvalid: it is missing, cannot be read, is an archive that is refused, or a Python
// environment that cannot work here; kUnavailable: it changed while it was read, or `watch.stop` was asked;
// kCannotWrite: the store. A failure leaves complete entries only.
Result<StagedFiles> Stage(const JobSpec& spec, const StagedStore& store, const StageWatch& watch,
                          const LookAtRemote& look = NoRemoteFiles, const UnpackLimits& limits = {},
                          bool as_tony = false);

}  // namespace tony
