#include "runtime/client/requests.h"

#include <utility>

#include "runtime/base/strings.h"
#include "runtime/client/choose_backend.h"
#include "runtime/client/job_access.h"

namespace tony {

Result<std::optional<FoundRequest>> FindRequest(const RequestId& request) {
  std::optional<FoundRequest> found;
  for (const Backend* backend : ConfiguredBackends()) {
    TRY_ASSIGN(const auto index, backend->Requests(JobId()));
    TRY_ASSIGN(auto record, index->Read(request));
    if (!record) continue;
    TRY_ASSIGN(auto job, FindIfExists(record->job));
    if (job) return std::optional(FoundRequest{*std::move(record), std::move(job)});
    if (!found) found = FoundRequest{*std::move(record), std::nullopt};
  }
  return found;
}

namespace {

// Revokes the owner in all backends, because it is not known yet in which backend the submit will create its job.
Status Revoke(const RequestId& request, const OwnerToken& owner) {
  for (const Backend* backend : ConfiguredBackends()) {
    TRY_ASSIGN(const auto index, backend->Requests(JobId()));
    TRY(index->Revoke(request, owner, RealClock().Now()));
  }
  return Ok();
}

Result<std::optional<JobRecords>> JobOf(const RequestId& request) {
  TRY_ASSIGN(auto found, FindRequest(request));
  return found ? std::move(found->job) : std::nullopt;
}

}  // namespace

// The owner is revoked before the search for the job. A submit creates its job before it checks the revocation.
// Therefore the kill finds the job, or the submit finds the revocation. A kill with a watcher condition or a delay may
// still become void, so such a kill revokes the owner only if the request has no job.
Result<std::optional<JobRecords>> FindForKill(const RequestId& request, const KillRequest& kill,
                                              const ClientNotes& notes) {
  const bool owned = !kill.if_owner.value.empty();
  const bool certain = kill.if_watcher.value.empty() && kill.due == Instant{};
  const Status revoked = owned && certain ? Revoke(request, kill.if_owner) : Ok();
  TRY_ASSIGN(auto job, JobOf(request));
  if (job) {
    if (!revoked.ok())
      notes.note(StrCat("tony: ", revoked.error().message, "; the kill is not recorded and is only sent to the job"));
    return job;
  }
  TRY(revoked);
  if (!owned) return Error{ErrorCode::kNotFound, StrCat("request ", request.value, " has no job")};
  if (certain) return job;
  TRY(Revoke(request, kill.if_owner));
  return JobOf(request);
}

}  // namespace tony
