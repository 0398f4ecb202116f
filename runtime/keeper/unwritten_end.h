// The end of a job whose own folder takes no record of it, because its disk fails, is read-only or is full. The keeper
// leaves it in the ledger's folder, which lies on another file system in most installations. The next command that
// looks at the job finds it there, and writes it into the job's folder as soon as that can be written (lost_job.h).
//
//   .end-<job id>.<random>   the status document, without tasks and restarts
//
// A file of another user counts for nothing, and the random part keeps others from taking the name first.
#pragma once

#include <filesystem>
#include <optional>

#include "runtime/base/result.h"
#include "runtime/job/job_status.h"

namespace tony {

// `status` has a verdict. kCannotWrite leaves nothing behind. Returns the file, for people.
Result<std::filesystem::path> KeepUnwrittenEnd(const std::filesystem::path& ledger, JobStatus status);
// Nothing: there is none of this process's user.
std::optional<JobStatus> FindUnwrittenEnd(const std::filesystem::path& ledger, const JobId& job);
void ForgetUnwrittenEnd(const std::filesystem::path& ledger, const JobId& job);

}  // namespace tony
