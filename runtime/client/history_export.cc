#include "runtime/client/history_export.h"

#include "runtime/backend/backend.h"
#include "runtime/base/strings.h"
#include "runtime/client/job_access.h"
#include "runtime/client/output.h"
#include "runtime/history/history_files.h"

namespace tony {

Result<int> ExportHistory(const JobFolder& folder, bool json) {
  TRY_ASSIGN(const auto path, HistoryFolder(folder));
  if (!path) {
    return Error{ErrorCode::kInvalid,
                 StrCat("job ", folder.job().value, " was submitted without tony.history.location")};
  }
  TRY(BackendOf(folder.job()).arbiter().Settle(folder));
  TRY_ASSIGN(const JobStatus status, StoredStatus(folder));
  TRY(HasEnded(status) ? FinishHistory(folder) : BeginHistory(folder));
  const std::string text = path->string();
  if (json) {
    PrintLine(StrCat(R"({"schema":1,"job":)", JsonString(folder.job().value), R"(,"folder":)", JsonString(text), "}"));
  } else {
    PrintLine(text);
  }
  return 0;
}

}  // namespace tony
