#include "runtime/records/job_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "runtime/base/strings.h"
#include "runtime/os/file_lock.h"
#include "runtime/os/file_system.h"
#include "runtime/os/files.h"

namespace tony {

namespace fs = std::filesystem;

Status JobFolder::WriteBoot(const std::string& boot) const {
  return WriteFileByRename(path_ / "boot-id", boot + "\n", /*durable=*/false);
}

bool JobFolder::IsOfEarlierBoot() const {
  const auto submission = LocalJobRecords(path_).ReadSubmission();
  if (!submission.ok() || submission->host != HostName()) return false;
  const auto kept = ReadFile(path_ / "boot-id");
  std::string recorded = kept.ok() ? std::string(Trim(*kept)) : "";
  // If a power cut has emptied the file boot-id, the boot at the submission is used.
  if (recorded.empty()) recorded = submission->boot;
  const std::string present = BootId();
  return !recorded.empty() && !present.empty() && recorded != present;
}

Status JobFolder::MakeReserve(int tasks) const {
  // The reserve covers the last decisions and the final status: a few hundred bytes for each task, and the last output
  // lines of one task in the verdict.
  constexpr off_t kOfJob = 64 << 10, kOfTask = 2 << 10;
  const fs::path file = path_ / "reserve";
  const UniqueFd fd(open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.valid()) return FileError(ErrorCode::kCannotWrite, "make", file, errno);
  if (const int error = posix_fallocate(fd.get(), 0, kOfJob + tasks * kOfTask); error != 0)
    return FileError(ErrorCode::kCannotWrite, "reserve space in", file, error);
  return Ok();
}

Result<UniqueFd> JobFolder::Lock(const std::string& name) const { return TryLockFile(path_ / name); }

bool JobFolder::IsLocked(const std::string& name) const { return IsFileLocked(path_ / name); }

}  // namespace tony
