#include "runtime/cli/history_export.h"

#include "runtime/base/json_text.h"
#include "runtime/base/strings.h"
#include "runtime/cli/output.h"
#include "runtime/client/choose_backend.h"
#include "runtime/client/job_access.h"
#include "runtime/history/history_files.h"

namespace tony {

Result<int> ExportHistory(const JobRecords& records, bool json) {
  TRY_ASSIGN(const auto path, HistoryFolder(records));
  if (!path) {
    return Error{ErrorCode::kInvalid,
                 StrCat("job ", records.job().value, " was submitted without tony.history.location")};
  }
  TRY(BackendOf(records.job()).arbiter().Settle(records));
  TRY_ASSIGN(const JobStatus status, StoredStatus(records));
  const std::string text = path->string();
  const ClusterFiles* cluster = BackendOf(records.job()).cluster_files();
  std::shared_ptr<const FilesForOthers> there;
  if (cluster) {
    TRY_ASSIGN(there, cluster->HistoryFiles(records.job(), text));
  }
  const FilesForOthers& files = there ? *there : FilesOnThisMachine();
  TRY(HasEnded(status) ? FinishHistory(records, files) : BeginHistory(records, files));
  if (json) {
    PrintLine(StrCat(R"({"schema":1,"job":)", JsonString(records.job().value), R"(,"folder":)", JsonString(text), "}"));
  } else {
    PrintLine(text);
  }
  return 0;
}

}  // namespace tony
