#include "runtime/scheduler/yarn/yarn_arbiter.h"

#include <utility>

#include "runtime/base/strings.h"
#include "runtime/scheduler/last_status.h"
#include "runtime/scheduler/yarn/rm_calls.h"
#include "runtime/scheduler/yarn/yarn_job_place.h"
#include "runtime/tls/tls.h"

namespace tony {
namespace {

using hadoop::ApplicationState;

constexpr Duration kLookLimit{5000};
constexpr Duration kSubmitLimit{30'000};

bool HasEnded(ApplicationState state) { return state >= ApplicationState::kFinished; }

RmCalls CallsOf(const YarnCluster& cluster, Duration limit) { return {cluster.rm, cluster.user, limit}; }

Result<hadoop::ApplicationId> IdOf(const JobId& job) {
  const auto id = hadoop::ParseApplicationId(job.value);
  if (!id) return Error{ErrorCode::kNotFound, StrCat("\"", job.value, "\" is no application id")};
  return *id;
}

Result<hadoop::ApplicationReport> ReportOf(const JobRecords& records) {
  TRY_ASSIGN(const YarnCluster cluster, FindYarnCluster());
  TRY_ASSIGN(const hadoop::ApplicationId id, IdOf(records.job()));
  return CallsOf(cluster, kLookLimit).Report(id);
}

bool WasRuled(const JobRecords& records) {
  const auto lease = records.ReadLease();
  return !lease.ok() || lease->has_value();  // not known: nothing is started
}

}  // namespace

Verdict VerdictWithoutMaster(const hadoop::ApplicationReport& report) {
  Verdict verdict;
  const std::string why = hadoop::OneLine(report.diagnostics);
  if (report.state == ApplicationState::kKilled) {
    verdict.state = FinalState::kKilled;
    verdict.cls = OutcomeClass::kKilled;
    verdict.message = why.empty() ? "killed in YARN" : StrCat("killed in YARN: ", why);
    return verdict;
  }
  verdict.state = FinalState::kFailed;
  verdict.cls = OutcomeClass::kInfra;
  verdict.message = StrCat("the application master ended without a verdict", why.empty() ? "" : ": ", why);
  return verdict;
}

ArbiterView YarnArbiter::Look(const JobRecords& records) const {
  const auto report = ReportOf(records);
  if (report.ok()) {
    const bool ended = HasEnded(report->state);
    return {.kind = ended ? ArbiterView::Kind::kLost : ArbiterView::Kind::kKept, .swept = ended};
  }
  if (report.error().code != ErrorCode::kNotFound) return {.kind = ArbiterView::Kind::kKept};
  const bool lost = WasRuled(records);
  return {.kind = lost ? ArbiterView::Kind::kLost : ArbiterView::Kind::kNobody, .swept = lost};
}

Result<std::optional<JobStatus>> YarnArbiter::UnwrittenEnd(const JobRecords& records) const {
  const auto report = ReportOf(records);
  hadoop::ApplicationReport end;
  if (report.ok() && HasEnded(report->state)) {
    end = *report;
  } else if (!report.ok() && report.error().code == ErrorCode::kNotFound && WasRuled(records)) {
    end.state = ApplicationState::kFailed;
    end.diagnostics = "the ResourceManager knows the application no longer";
  } else {
    return std::optional<JobStatus>();
  }
  TRY_ASSIGN(JobStatus status, LastStatus(records));  // asked for after RM's word: a master writes before it leaves
  if (status.verdict) return std::optional<JobStatus>();
  EndStatus(status, VerdictWithoutMaster(end), end.finished == Instant{} ? RealClock().Now() : end.finished);
  return std::optional(std::move(status));
}

Status YarnArbiter::Settle(const JobRecords& records) const {
  TRY_ASSIGN(const auto end, UnwrittenEnd(records));
  if (!end) return Ok();
  return records.WriteStatus(*end, Durability::kSurvivesPowerCut);
}

Result<MakeChannel> YarnArbiter::WayToAm(const JobRecords& records) const {
  TRY_ASSIGN(const JobCertificates certificates, ReadCertificates(records));
  return MakeTlsClient(certificates.client);
}

// A master that is about to register finds the request in the records.
Result<bool> YarnArbiter::EndUnruled(const JobRecords& records, const KillRequest& kill) const {
  TRY_ASSIGN(const auto report, ReportOf(records));
  if (HasEnded(report.state) || report.state == ApplicationState::kRunning) return false;
  TRY_ASSIGN(const Submission submission, records.ReadSubmission());
  const bool is_fenced = !kill.if_owner.value.empty() && kill.if_owner != submission.claim.owner;
  if (is_fenced || !kill.if_watcher.value.empty() || kill.due > RealClock().Now() || kill.delay > Duration(0))
    return false;
  TRY_ASSIGN(const YarnCluster cluster, FindYarnCluster());
  TRY(CallsOf(cluster, kLookLimit).Kill(report.id, kill.reason));
  return true;
}

std::string YarnArbiter::WhyItEnds(const JobRecords& records) const {
  return StrCat("see \"yarn application -status ", records.job().value, "\"");
}

Status YarnArbiter::Start(const JobRecords& records) {
  TRY_ASSIGN(const YarnCluster cluster, FindYarnCluster());
  TRY_ASSIGN(const hadoop::Submission submission, make_(cluster, records));
  return CallsOf(cluster, kSubmitLimit).Submit(submission);
}

}  // namespace tony
