#include "executor/attempt_files.h"

#include <unistd.h>

#include <boost/json.hpp>
#include <cerrno>
#include <system_error>

#include "runtime/job/json_fields.h"
#include "runtime/os/file_lock.h"
#include "runtime/os/files.h"

namespace tony::executor {
namespace {

namespace fs = std::filesystem;

// A job of the release before.
Status LinkSources(const fs::path& src, const fs::path& work) {
  std::error_code error;
  for (fs::directory_iterator entry(src, error), end; !error && entry != end; entry.increment(error)) {
    const fs::path link = work / entry->path().filename();
    if (symlink(entry->path().c_str(), link.c_str()) != 0 && errno != EEXIST)
      return FileError(ErrorCode::kCannotWrite, "link", link, errno);
  }
  if (error && error != std::errc::no_such_file_or_directory)
    return FileError(ErrorCode::kUnavailable, "list", src, error.value());
  return Ok();
}

// What is meant for fewer tasks goes before what is meant for more, and what is named before the contents of src_dir.
Status LinkAll(const StagedFiles& staged, const std::string& role, const fs::path& work) {
  if (const auto own = staged.roles.find(role); own != staged.roles.end()) TRY(LinkStaged(own->second, work));
  return LinkStaged(staged.job, work);
}

}  // namespace

Result<UniqueFd> LockAttempt(const AttemptFolder& folder) {
  TRY(MakeFolder(folder.logs));
  return TakeLock(folder.logs / "lock");
}

Status PrepareWorkFolder(const JobRecords& records, const std::string& role, const AttemptFolder& folder,
                         const std::vector<GivenFile>& files) {
  TRY(MakeFolder(folder.work));
  for (const auto& [path, content] : files) TRY(WriteFileByRename(path, content, false));
  TRY_ASSIGN(const auto staged, records.ReadStaged());
  return staged ? LinkAll(*staged, role, folder.work) : LinkSources(records.place() / "src", folder.work);
}

Status WriteNotice(const fs::path& file, const std::string& reason, Instant deadline) {
  const boost::json::object notice = {{"reason", reason}, {"deadline", ToIso8601(deadline)}};
  return WriteFileByRename(file, SerializeJson(notice) + "\n", /*durable=*/false);
}

}  // namespace tony::executor
