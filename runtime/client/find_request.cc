#include "runtime/client/find_request.h"

#include <utility>

#include "runtime/client/choose_backend.h"
#include "runtime/client/job_access.h"

namespace tony {

Result<std::optional<FoundRequest>> FindRequest(const RequestId& request) {
  std::optional<FoundRequest> found;
  for (const Backend* backend : ConfiguredBackends()) {
    TRY_ASSIGN(const auto index, backend->Requests(JobId()));
    TRY_ASSIGN(auto record, index->Read(request));
    if (!record) continue;
    TRY_ASSIGN(auto job, FindIfThere(record->job));
    if (job) return std::optional(FoundRequest{*std::move(record), std::move(job)});
    if (!found) found = FoundRequest{*std::move(record), std::nullopt};
  }
  return found;
}

}  // namespace tony
