#include "runtime/client/kill_target.h"

#include "runtime/base/strings.h"
#include "runtime/client/job_access.h"
#include "runtime/client/output.h"
#include "runtime/store/request_index.h"
#include "runtime/store/user_home.h"

namespace tony {
namespace {

Result<std::optional<JobRecords>> JobOf(const RequestIndex& index, const RequestId& request) {
  TRY_ASSIGN(const auto record, index.Read(request));
  return FindIfThere(record ? record->job : std::nullopt);
}

}  // namespace

// The owner is told to stop before the job is looked for: its submit makes the job before it looks whether it was. A
// kill that may still be void tells it only where there is no job that it could be void for.
Result<std::optional<JobRecords>> FindForKill(const RequestId& request, const KillRequest& kill) {
  TRY_ASSIGN(const auto home, TonyHome());
  const RequestIndex index(home);
  const auto revoke = [&] { return index.Revoke(request, kill.if_owner, RealClock().Now()); };
  const bool owned = !kill.if_owner.value.empty();
  const bool certain = kill.if_watcher.value.empty() && kill.due == Instant{};
  const Status revoked = owned && certain ? revoke() : Ok();
  TRY_ASSIGN(auto folder, JobOf(index, request));
  if (folder) {
    if (!revoked.ok()) Say(StrCat("tony: ", revoked.error().message, "; only the job is told"));
    return folder;
  }
  TRY(revoked);
  if (!owned) return Error{ErrorCode::kNotFound, StrCat("request ", request.value, ": no job")};
  if (certain) return folder;
  TRY(revoke());
  return JobOf(index, request);
}

}  // namespace tony
