#include "runtime/client/job_access.h"

#include <filesystem>
#include <utility>

#include "runtime/base/event_loop.h"
#include "runtime/base/json_text.h"
#include "runtime/base/overloaded.h"
#include "runtime/base/strings.h"
#include "runtime/client/choose_backend.h"
#include "runtime/client/outputs.h"
#include "runtime/os/files.h"
#include "runtime/records/last_status.h"
#include "runtime/rpc/am_connection.h"

namespace tony {
namespace {

constexpr Duration kAskLimit{1000};

Result<JobStatus> AskAm(const JobRecords& records) {
  TRY_ASSIGN(const auto lease, records.ReadLease());
  if (!lease) return Error{ErrorCode::kUnavailable, "no application master has ruled yet"};
  TRY_ASSIGN(const std::string token, records.ReadToken());
  TRY_ASSIGN(MakeChannel tls, BackendOf(records.job()).arbiter().WayToAm(records));
  EventLoop loop;
  const auto am = MakeAmConnection(loop, records.place(), kAskLimit, std::move(tls));
  am->Use(lease->am.own);
  Result<JobStatus> status = Error{ErrorCode::kUnavailable, "not answered"};
  am->GetStatus(token, [&](const Answer<JobStatus>& answer) {
    std::visit(Overloaded{[&](const JobStatus& told) { status = told; },
                          [&](const auto& instead) { status = ErrorOf(instead); }},
               answer);
    loop.Stop();
  });
  loop.Run();
  return status;
}

KnownStatus Ended(const JobRecords& records, JobStatus status) {
  const std::string problem = OutputsProblem(records, status);
  const auto acked = records.IsAcked();
  return {.status = std::move(status), .acked = acked.ok() && *acked, .outputs_problem = problem};
}

JobStatus WithPage(JobStatus status) {
  if (status.tracking_url.empty()) status.tracking_url = BackendOf(status.job).logs().PageWithoutMaster(status.job);
  return status;
}

}  // namespace

Result<JobRecords> FindJob(const std::string& id) {
  // An id becomes a path: nothing that leaves the folder of jobs.
  if (id.empty() || id[0] == '.' || id.find('/') != std::string::npos)
    return Error{ErrorCode::kNotFound, StrCat("\"", id, "\" is no job id; \"tony list\" shows them")};
  TRY(CheckConfigured({id}));
  TRY_ASSIGN(const auto jobs, BackendOf({id}).Jobs(JobId{id}));
  return jobs->Find({id});
}

Result<std::optional<JobRecords>> FindIfThere(const std::optional<JobId>& job) {
  if (!job) return std::optional<JobRecords>();
  Result<JobRecords> folder = FindJob(job->value);
  if (folder.ok()) return std::optional(*std::move(folder));
  if (folder.error().code == ErrorCode::kNotFound) return std::optional<JobRecords>();
  return folder.error();
}

Result<JobStatus> StoredStatus(const JobRecords& records) {
  const auto stored = records.ReadStatus();
  if (stored.ok() && *stored && HasEnded(**stored)) return WithPage(**stored);
  // A power cut may have emptied the last one, which is not synced before the job's end; of an ended job it is damaged.
  const Arbiter& arbiter = BackendOf(records.job()).arbiter();
  if (stored.ok() || !arbiter.Look(records).swept) {
    TRY_ASSIGN(auto end, arbiter.UnwrittenEnd(records));
    if (end) return WithPage(*std::move(end));
  }
  TRY(stored);
  if (*stored) return WithPage(**stored);
  TRY(records.ReadSpec());
  TRY_ASSIGN(auto fresh, FreshStatus(records));
  return WithPage(std::move(fresh));
}

bool HasEnded(const JobStatus& status) { return status.verdict.has_value(); }

bool IsUnruled(const JobRecords& records, const JobStatus& status) {
  return !HasEnded(status) && !BackendOf(records.job()).arbiter().Look(records).IsRuled();
}

bool IsGone(const JobRecords& records) {
  const ArbiterView view = BackendOf(records.job()).arbiter().Look(records);
  return view.swept && !view.IsRuled();
}

bool IsGone(const JobRecords& records, const JobStatus& status) { return HasEnded(status) && IsGone(records); }

Result<KnownStatus> AskStatus(const JobRecords& records) {
  TRY_ASSIGN(JobStatus stored, StoredStatus(records));
  if (HasEnded(stored)) return Ended(records, std::move(stored));
  Result<JobStatus> asked = AskAm(records);
  if (asked.ok()) return KnownStatus{.status = *std::move(asked), .am_reachable = true};
  TRY_ASSIGN(stored, StoredStatus(records));  // it may have ended while we asked
  if (HasEnded(stored)) return Ended(records, std::move(stored));
  (void)BackendOf(records.job()).arbiter().LeaveLook(records, {});  // an AM would have taken the question for one
  const ArbiterView seen = BackendOf(records.job()).arbiter().Look(records);
  if (stored.delay.empty()) stored.delay = seen.waits;
  return KnownStatus{.status = std::move(stored), .unruled = !seen.IsRuled()};
}

Status Acknowledge(const JobRecords& records, const OwnerToken& owner) {
  return records.WriteAcked(owner, RealClock().Now());
}

std::string ToJson(const KnownStatus& known) {
  std::string document = ToJson(known.status);
  if (!known.outputs_problem.empty())
    document = WithFields(std::move(document), {{"outputs_problem", JsonString(known.outputs_problem)}});
  if (known.acked) return WithFields(std::move(document), {{"acked", "true"}});
  if (HasEnded(known.status)) return document;
  return WithFields(std::move(document), {{"am_reachable", known.am_reachable ? "true" : "false"},
                                          {"unruled", known.unruled ? "true" : "false"}});
}

}  // namespace tony
