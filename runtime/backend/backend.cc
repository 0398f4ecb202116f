#include "runtime/backend/backend.h"

namespace tony {

Result<std::vector<RemoteFile>> Backend::LookAt(const ParsedJobSpec&, const FileSpec&) const {
  return Error{ErrorCode::kInvalid, "the job's scheduler has no file system of its own"};
}

Result<std::shared_ptr<const FilesForOthers>> Backend::HistoryFiles(const JobId&, const std::string&) const {
  return std::shared_ptr<const FilesForOthers>(std::shared_ptr<void>(), &FilesOnThisMachine());
}

Result<std::string> Backend::ReadFile(const std::string&) const {
  return Error{ErrorCode::kInvalid, "the scheduler has no file system of its own"};
}

}  // namespace tony
