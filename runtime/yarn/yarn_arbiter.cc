#include "runtime/yarn/yarn_arbiter.h"

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/job/job_spec.h"
#include "runtime/net/tls.h"
#include "runtime/records/history.h"
#include "runtime/records/job_records.h"
#include "runtime/records/journal_format.h"
#include "runtime/records/last_status.h"
#include "runtime/records/record_store.h"
#include "runtime/yarn/cluster_login.h"
#include "runtime/yarn/yarn_ends.h"
#include "runtime/yarn/yarn_jobs.h"
#include "runtime/yarn/yarn_queues.h"
#include "runtime/yarn/yarn_requests.h"

namespace tony {
namespace {

using hadoop::ApplicationState;

constexpr Duration kLookLimit{5000};
constexpr Duration kSubmitLimit{30'000};
// Limit of connecting, and of the call, when a client ends a job and may have to exit soon.
constexpr Duration kKillLimit{2000};
constexpr Duration kEndPause{100};
// A ResourceManager decides within milliseconds. After this time the job counts as accepted.
constexpr Duration kAcceptLimit{2000};

bool Has(const std::string& text, std::string_view words) { return text.find(words) != std::string::npos; }

bool HasEnded(ApplicationState state) { return state >= ApplicationState::kFinished; }

RmCalls CallsOf(const YarnCluster& cluster, Duration limit) { return {cluster, limit}; }

Result<hadoop::ApplicationId> IdOf(const JobId& job) {
  const auto id = hadoop::ParseApplicationId(job.value);
  if (!id) return NotFoundError("\"", job.value, "\" is not an application id");
  return *id;
}

Result<hadoop::ApplicationReport> ReportOf(const JobRecords& records) {
  TRY_ASSIGN(const YarnCluster cluster, FindYarnCluster(records.job()));
  TRY_ASSIGN(const hadoop::ApplicationId id, IdOf(records.job()));
  return CallsOf(cluster, kLookLimit).Report(id);
}

// Returns why the nodes have no room for the AM's container, or which resource is used up on all nodes; nullopt if they
// have room, or if their room is not known.
std::optional<std::string> WhyNoAm(const JobRecords& records) {
  const auto cluster = FindYarnCluster(records.job());
  const auto spec = records.ReadSpec();
  if (!cluster.ok() || !spec.ok()) return std::nullopt;
  auto nodes = CallsOf(*cluster, kLookLimit).RunningNodes();
  if (!nodes.ok()) return std::nullopt;
  const std::string used_up = UsedUp(*nodes);
  if (auto why = WhyNotGranted(
          {.size = {spec->yarn.am_memory_mb, spec->yarn.am_vcores, {}}, .label = spec->yarn.am_node_label},
          {.nodes = *std::move(nodes)}))
    return why;
  return used_up.empty() ? std::nullopt : std::optional(StrCat("jobs use all ", used_up, " of the nodes"));
}

bool HadLeader(const JobRecords& records) {
  const auto lease = records.ReadLease();
  // If the lease cannot be read, an AM may have been leader. The result is then true, because a second AM must not be
  // started.
  return !lease.ok() || lease->has_value();
}

// Returns the ResourceManager's final report on the application. nullopt: the application has not ended, or its state
// is not known.
Result<std::optional<hadoop::ApplicationReport>> LastReport(const JobRecords& records) {
  auto report = ReportOf(records);
  if (report.ok()) {
    if (report->finished == Instant{}) report->finished = RealClock().Now();
    return HasEnded(report->state) ? std::optional(*std::move(report)) : std::nullopt;
  }
  if (report.error().code != ErrorCode::kNotFound || !HadLeader(records))
    return std::optional<hadoop::ApplicationReport>();
  hadoop::ApplicationReport forgotten;
  forgotten.state = ApplicationState::kFailed;
  forgotten.diagnostics = "the ResourceManager no longer knows the application";
  forgotten.finished = RealClock().Now();
  return std::optional(std::move(forgotten));
}

// Returns nullopt for a damaged journal, because it will never be readable. A journal that cannot be reached is an
// error, because it may be readable later.
Result<std::optional<std::string>> Readable(Result<std::optional<std::string>> journal) {
  if (journal.ok() || journal.error().code != ErrorCode::kInvalid) return journal;
  LogWarn(journal.error().message);
  return std::optional<std::string>();
}

void CatchUpWithAttempt(TaskStatus& task, const AttemptHistory& attempt, Instant now) {
  if (attempt.id.number < task.attempt || task.id != attempt.id.task) return;
  task.attempt = attempt.id.number;
  task.host = attempt.host;
  task.started = attempt.started;
  if (attempt.outcome) return EndTask(task, *attempt.outcome, attempt.ended.value_or(now));
  if (attempt.started) task.state = "active";
}

// Returns the journal, and seals it if it has a store of its own. A journal in a plain record is only read, because no
// AM has to be stopped from writing it.
Result<std::optional<std::string>> Seal(const JobRecords& records) {
  return records.journal_store() ? SealJournal(*records.journal_store()) : records.ReadJournal();
}

}  // namespace

namespace {

Verdict MakeVerdict(FinalState state, OutcomeClass cls, std::string message) {
  Verdict made;
  made.state = state;
  made.cls = cls;
  made.message = std::move(message);
  return made;
}

// Returns the verdict that an AM has sent to the ResourceManager. The first line of the diagnostics is the first cause.
Verdict VerdictOfMaster(const hadoop::ApplicationReport& report) {
  const std::string cause = FirstLine(report.diagnostics);
  if (report.final_status == hadoop::FinalStatus::kSucceeded)
    return MakeVerdict(FinalState::kSucceeded, OutcomeClass::kSuccess, cause);
  if (report.final_status == hadoop::FinalStatus::kKilled)
    return MakeVerdict(FinalState::kKilled, OutcomeClass::kKilled, cause);
  return MakeVerdict(FinalState::kFailed, OutcomeClass::kInfra, cause);
}

}  // namespace

Verdict VerdictWithoutMaster(const hadoop::ApplicationReport& report) {
  const auto verdict = MakeVerdict;
  const std::string why = ReasonOf(report);
  const bool is_of_master = report.state == ApplicationState::kFinished;
  if (is_of_master && report.final_status != hadoop::FinalStatus::kUndefined) return VerdictOfMaster(report);
  if (Has(report.diagnostics, "exceeded the lifetime"))  // text of RMAppLifetimeMonitor
    return verdict(FinalState::kFailed, OutcomeClass::kTimeout,
                   "YARN ended the job, because the application master did not end it after tony.application.timeout");
  // A client that waited too long for the start of the AM has ended the application.
  if (const size_t late = report.diagnostics.find(kStartedTooLate); late != std::string::npos)
    return verdict(FinalState::kFailed, OutcomeClass::kTimeout, hadoop::OneLine(report.diagnostics.substr(late)));
  if (report.state == ApplicationState::kKilled)
    return verdict(FinalState::kKilled, OutcomeClass::kKilled, KillInYarn(report));
  const bool never_ran = Has(report.diagnostics, "exitCode: -1000");
  if (const auto lasting = never_ran ? LastingCauseIn(report.diagnostics) : std::nullopt)
    return verdict(FinalState::kFailed, lasting->cls, "the application master was not started: " + lasting->why);
  return verdict(FinalState::kFailed, OutcomeClass::kInfra, MasterFailure(report.diagnostics));
}

JobStatus EndWithoutMaster(JobStatus last, const std::optional<std::string>& journal,
                           const hadoop::ApplicationReport& report) {
  const Instant now = report.finished;
  Verdict verdict = VerdictWithoutMaster(report);
  const auto decoded = journal ? DecodeJournal(*journal) : Result<DecodedJournal>(DecodedJournal());
  if (!decoded.ok()) LogWarn(StrCat("journal of ", last.job.value, ": ", decoded.error().message));
  if (!decoded.ok() || decoded->decisions.empty()) {
    EndStatus(last, verdict, now);
    return last;
  }
  const JobHistory history = HistoryOf(decoded->decisions, last.submitted, now);
  for (const AttemptHistory& attempt : history.attempts)
    for (TaskStatus& task : last.tasks) CatchUpWithAttempt(task, attempt, now);
  last.epoch = std::max(last.epoch, history.epoch);
  EndStatus(last, history.verdict.value_or(std::move(verdict)), history.ended.value_or(now));
  return last;
}

ArbiterView YarnArbiter::Look(const JobRecords& records) const {
  const auto report = ReportOf(records);
  if (report.ok()) {
    const bool ended = HasEnded(report->state);
    return {.kind = ended ? ArbiterView::Kind::kLost : ArbiterView::Kind::kKept,
            .swept = ended,
            .waits = AmWaitReason(*report, [&] { return WhyNoAm(records); }),
            .oldest_epoch = {report->attempt > 1 ? report->attempt * kEpochsPerAttempt : 0}};
  }
  if (report.error().code != ErrorCode::kNotFound) return {.kind = ArbiterView::Kind::kKept};
  const bool lost = HadLeader(records);
  return {.kind = lost ? ArbiterView::Kind::kLost : ArbiterView::Kind::kNobody, .swept = lost};
}

Result<std::optional<JobStatus>> YarnArbiter::UnwrittenEnd(const JobRecords& records) const {
  TRY_ASSIGN(const auto report, LastReport(records));
  if (!report) return std::optional<JobStatus>();
  // The status is read after the ResourceManager's answer, because an AM may write until it exits.
  TRY_ASSIGN(JobStatus last, LastStatus(records));
  if (last.verdict) return std::optional<JobStatus>();
  TRY_ASSIGN(const auto journal, Readable(records.ReadJournal()));
  return std::optional(EndWithoutMaster(std::move(last), journal, *report));
}

Status YarnArbiter::Settle(const JobRecords& records) const {
  TRY_ASSIGN(const auto report, LastReport(records));
  if (!report) return Ok();
  TRY_ASSIGN(JobStatus last, LastStatus(records));
  if (last.verdict) return Ok();
  TRY_ASSIGN(const auto journal, Readable(Seal(records)));
  // The AM may have written a verdict before its journal was sealed.
  TRY_ASSIGN(last, LastStatus(records));
  if (last.verdict) return Ok();
  const JobStatus end = EndWithoutMaster(std::move(last), journal, *report);
  // Several processes may finalize the job. The first one records the final status, and the others use that record.
  std::string document = ToJson(end);
  TRY_ASSIGN(const bool is_first, records.store().PutNew(kSettledRecord, document, Durability::kSurvivesPowerCut));
  if (!is_first) {
    TRY_ASSIGN(document, ReadWhole(records.store(), kSettledRecord));
  }
  TRY_ASSIGN(const JobStatus status, JobStatusFromJson(document));
  TRY(records.WriteStatus(status, Durability::kSurvivesPowerCut));
  if (const auto cluster = FindYarnCluster(records.job()); cluster.ok()) FinishHistoryInHdfs(*cluster, records);
  RemoveUnneededRecords(records);
  return Ok();
}

Result<MakeChannel> YarnArbiter::WayToAm(const JobRecords& records) const {
  TRY_ASSIGN(const JobCertificates certificates, ReadCertificates(records));
  return MakeTlsClient(certificates.client);
}

// Ends a job that has no AM yet. An AM that is about to register finds the kill in the records. A client may submit the
// application at this moment. The ResourceManager accepts only the first submission of an id: either the client's, or
// ours without an AM. The kill below ends either of them.
Result<bool> YarnArbiter::EndBeforeFirstAm(const JobRecords& records, const KillRequest& kill) const {
  const auto report = ReportOf(records);
  const bool is_unknown = !report.ok() && report.error().code == ErrorCode::kNotFound;
  if (!is_unknown) TRY(report);
  if (!is_unknown && report->state >= ApplicationState::kRunning) return false;
  if ((is_unknown || report->attempt > 1) && HadLeader(records)) return false;
  TRY_ASSIGN(const Submission submission, records.ReadSubmission());
  const Instant now = RealClock().Now();
  if (JudgeKill(WithDueByReader(now, kill), submission.claim.owner, {}, now) != KillAnswer::kTaken) return false;
  TRY_ASSIGN(const YarnCluster cluster, FindYarnCluster(records.job()));
  TRY_ASSIGN(const hadoop::ApplicationId id, IdOf(records.job()));
  const RmCalls rm = CallsOf(cluster, kLookLimit);
  if (is_unknown) {
    TRY_ASSIGN(const JobSpec spec, records.ReadSpec());
    TRY(rm.Submit({.id = id, .name = spec.name, .queue = spec.yarn.queue, .is_unmanaged = true}));
  }
  TRY(rm.Kill(id, kill.reason));
  return true;
}

Result<bool> YarnArbiter::EndInScheduler(const JobId& job, const std::string& reason) const {
  TRY_ASSIGN(const YarnCluster cluster, FindYarnCluster(job));
  TRY_ASSIGN(const hadoop::ApplicationId id, IdOf(job));
  TRY(CallsOf(cluster, kKillLimit).Kill(id, reason));
  return true;
}

// Without the records, the ResourceManager's report is all that is known. The next client that can read the records
// finalizes the job.
Result<std::optional<JobStatus>> YarnArbiter::EndWithoutRecords(const JobId& job, const std::string& reason,
                                                                Duration limit) const {
  TRY_ASSIGN(const YarnCluster cluster, FindYarnCluster(job));
  TRY_ASSIGN(const hadoop::ApplicationId id, IdOf(job));
  TRY(EndInScheduler(job, reason));
  JobStatus status;
  status.job = job;
  status.user = cluster.user;
  const Instant give_up = RealClock().Now() + limit;
  for (;;) {
    TRY_ASSIGN(auto report, CallsOf(cluster, kKillLimit).Report(id));
    if (report.finished == Instant{}) report.finished = RealClock().Now();
    if (HasEnded(report.state)) return std::optional(EndWithoutMaster(std::move(status), std::nullopt, report));
    status.state = "STOPPING";
    if (RealClock().Now() >= give_up) return std::optional(std::move(status));
    std::this_thread::sleep_for(kEndPause);
  }
}

// The ResourceManager knows the address of an AM that has no valid token, and so could not write its lease.
Result<std::optional<Arbiter::TokenPush>> YarnArbiter::PrepareTokenPush(const JobRecords& records) const {
  TRY_ASSIGN(const YarnCluster cluster, FindYarnCluster(records.job()));
  if (cluster.rm_principal.empty()) return std::optional<TokenPush>();
  TRY_ASSIGN(const hadoop::ApplicationId id, IdOf(records.job()));
  TRY_ASSIGN(const hadoop::ApplicationReport report, CallsOf(cluster, kLookLimit).Report(id));
  if (HasEnded(report.state)) return NotFoundError("job ", records.job().value, " has ended");
  TokenPush push;
  TRY_ASSIGN(const JobSpec spec, records.ReadSpec());
  TRY_ASSIGN(push.tokens, FreshTokens(cluster, spec));
  if (report.rpc_port > 0) push.am = Endpoint{report.host, report.rpc_port};
  return std::optional(std::move(push));
}

std::string YarnArbiter::KeeperFailureHint(const JobRecords& records) const {
  return StrCat("see \"tony status ", records.job().value, "\"");
}

Result<bool> YarnArbiter::Start(const JobRecords& records) {
  TRY_ASSIGN(const YarnCluster cluster, FindYarnCluster(records.job()));
  TRY_ASSIGN(const hadoop::Submission submission, make_(cluster, records));
  const RmCalls rm = CallsOf(cluster, kSubmitLimit);
  Status accepted = rm.Submit(submission);
  if (accepted.ok()) accepted = AwaitAcceptance(CallsOf(cluster, kLookLimit), submission.id, kAcceptLimit);
  if (accepted.ok()) return true;
  return RefusedSubmit(cluster, submission.queue, WithLoginAdvice(accepted.error()));
}

}  // namespace tony
