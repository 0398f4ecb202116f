// The folders of one attempt: its lock, and the working directory of its process.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/base/unique_fd.h"
#include "runtime/framework/user_environment.h"
#include "runtime/job/ids.h"
#include "runtime/records/attempt_folder.h"
#include "runtime/records/job_records.h"

namespace tony::executor {

// Takes logs/<task>/<n>/lock, making the folder. kUnavailable: another executor runs this attempt. Held until closed.
Result<UniqueFd> LockAttempt(const AttemptFolder& folder);

// Makes work/<task>/<n>/ with `files` and the staged files of the job and the role.
Status PrepareWorkFolder(const JobRecords& records, const std::string& role, const AttemptFolder& folder,
                         const std::vector<GivenFile>& files);

// What a program finds of a notice: {"reason":"preempted","deadline":"2026-01-31T12:00:04.000Z"}; whole, or not there.
Status WriteNotice(const std::filesystem::path& file, const std::string& reason, Instant deadline);

}  // namespace tony::executor
