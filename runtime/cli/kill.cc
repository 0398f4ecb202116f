// `tony kill`: records the request in the job's folder, notifies the AM, and waits until no process of the job is left.
// The command may be repeated. The AM judges the conditions of a kill. Before the first AM runs, the keeper (the
// supervisor of the job on its machine) judges an owner condition. If a request has no job yet, the kill revokes the
// owner, and a later submit by this owner is refused.
#include <optional>

#include "runtime/base/strings.h"
#include "runtime/base/time.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/options.h"
#include "runtime/cli/output.h"
#include "runtime/cli/progress.h"
#include "runtime/cli/terminal_notes.h"
#include "runtime/client/choose_backend.h"
#include "runtime/client/job_access.h"
#include "runtime/client/requests.h"
#include "runtime/client/watch_job.h"
#include "runtime/records/files_for_others.h"

namespace tony {
namespace {

// The time for which a kill that does not wait tries to notify an AM. An AM that starts later reads the request from
// the folder.
constexpr Duration kTellLimit{2000};
// The times that the command waits beyond the grace of the tasks. kMasterMargin is for an AM that ends a job and cannot
// record the end. kKeeperMargin is for a keeper that has received a signal.
constexpr Duration kMasterMargin{15'000}, kKeeperMargin{30'000};

struct Effect {
  bool killed = false;   // being killed, or already killed
  bool planned = false;  // may be killed later
  bool fenced = false;
  std::string words;
};

int Report(const CommandLine& line, const JobStatus& status, const Effect& effect) {
  const auto json = [](bool value) { return value ? "true" : "false"; };
  if (line.Has("json")) {
    PrintLine(WithFields(
        ToJson(status),
        {{"killed", json(effect.killed)}, {"planned", json(effect.planned)}, {"fenced", json(effect.fenced)}}));
  } else {
    PrintLine(StrCat("job ", status.job.value, " ", effect.words));
  }
  const std::string& job = status.job.value;
  SuggestNext(line, {StrCat(HasEnded(status) ? "history " : "wait ", job), StrCat("logs ", job)});
  return 0;
}

int ReportRemembered(const CommandLine& line, const RequestId& request, const OwnerToken& owner) {
  if (line.Has("json")) {
    PrintLine(StrCat(R"({"schema":1,"job":null,"request_id":)", JsonString(request.value),
                     R"(,"killed":false,"planned":false,"fenced":false,"remembered":true})"));
  } else {
    PrintLine(
        StrCat("request ", request.value, " has no job yet; a submit by owner ", owner.value, " will be refused"));
  }
  return 0;
}

Effect OfEnded(const JobStatus& status, const KillRequest& request) {
  const bool fenced = !request.if_owner.value.empty() && request.if_owner != status.claim.owner;
  return {.killed = !fenced && status.verdict->state == FinalState::kKilled,
          .fenced = fenced,
          .words = StrCat("had already ended: ", VerdictLine(status))};
}

Effect Judge(const Watched& watched, const JobStatus& status, const KillRequest& request) {
  if (watched.kill == KillAnswer::kFenced)
    return {.fenced = true, .words = "was not killed: it has another owner or a newer watcher"};
  if (HasEnded(status)) return {.killed = status.verdict->state == FinalState::kKilled, .words = VerdictLine(status)};
  if (watched.kill == KillAnswer::kPlanned)
    return {.planned = true,
            .words = StrCat("will be killed at ", ToIso8601(request.due),
                            " unless the job gets another owner or watcher first")};
  if (watched.kill || request.IsPlain()) return {.killed = true, .words = "is being killed"};
  return {.planned = true,
          .words = "will be killed if its application master, which does not respond at the moment, accepts the kill"};
}

// Appends to the kill's reason that root sent the kill. Root acts with the owner's rights, so neither the socket nor
// the file shows the AM that the sender is root.
void SayWhoAsks(KillRequest& request) {
  request.asker = UserBeforeSwitch();
  request.reason = ReasonWithRequester(request);
  request.asker.clear();
}

Duration GraceOf(const JobRecords& records, const KillRequest& request) {
  if (request.grace >= Duration(0)) return request.grace;
  const auto spec = records.ReadSpec();
  return spec.ok() ? spec->timers.grace : Timers().grace;
}

bool IsOfFiles(const Error& error) {
  return error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kCannotWrite;
}

// Kills a job whose files cannot be read or written because of the error `why`. Returns nullopt if the job cannot be
// killed without its files.
Result<std::optional<int>> KillWithoutRecords(const CommandLine& line, const JobId& job, const KillRequest& request,
                                              Duration grace, const Error& why) {
  // A conditional kill cannot be judged, because the owner and the watchers are recorded in the unusable files.
  if (!request.IsPlain()) return std::optional<int>();
  const Duration limit = line.Has("no-wait") ? Duration(0) : grace + kKeeperMargin;
  const auto ended = BackendOf(job).arbiter().EndWithoutRecords(job, request.reason, limit);
  if (!ended.ok())
    return Error{ended.error().code, StrCat(why.message, "; job ", job.value, ": ", ended.error().message)};
  if (!*ended) return std::optional<int>();
  const JobStatus& end = **ended;
  if (!HasEnded(end) && limit > Duration(0))
    return Error{ErrorCode::kUnavailable,
                 StrCat("job ", job.value, " has still not ended ", HumanDuration(limit),
                        " after its supervisor (keeper) got SIGTERM, which was sent because of this error: ",
                        why.message)};
  if (!HasEnded(end)) return std::optional(Report(line, end, {.killed = true, .words = "is being killed"}));
  const std::string words = StrCat(VerdictLine(end), "; the job's files could not be read or written: ", why.message);
  return std::optional(Report(line, end, {.killed = end.verdict->state == FinalState::kKilled, .words = words}));
}

Result<int> KillJob(const CommandLine& line, const JobRecords& records, const KillRequest& request,
                    const JobStatus& before) {
  // The kill may fail to be recorded if the disk is full. The AM can still be notified.
  const auto recorded = records.WriteKill(request);
  if (!recorded.ok())
    Say(StrCat("tony: ", recorded.error().message,
               "; the kill is not recorded and is only sent to the application master"));
  EventLoop loop;
  const auto launcher = BackendOf(records.job()).MakeLauncher(loop);
  Interrupts interrupts(loop);
  WatchOptions options = {.kill = recorded.ok() ? *recorded : RecordedKill{"", request}, .known = before};
  options.until_answered = line.Has("no-wait") || request.due != Instant{};
  if (options.until_answered) {
    options.limit = kTellLimit;
  } else {
    options.on_status = SayChanges();
    // If the kill could not be recorded, the AM cannot record the job's end either. This command then stops following
    // after the limit and checks the processes itself.
    if (!recorded.ok() && request.IsPlain()) options.limit = GraceOf(records, request) + kMasterMargin;
  }
  const auto watch = WatchJob(loop, interrupts, records, *launcher, TerminalNotes(), options);
  const bool has_ended = watch.ok() && watch->status && HasEnded(*watch->status);
  const bool is_heard = watch.ok() && ((watch->kill && options.until_answered) || watch->signal != 0);
  const Duration grace = GraceOf(records, request);
  if (!recorded.ok() && !has_ended && !is_heard) {
    TRY_ASSIGN(const auto exit, KillWithoutRecords(line, records.job(), request, grace, recorded.error()));
    if (exit) return *exit;
  }
  // The AM cannot record the job's end, so it has reported the end to this command instead. The AM and its keeper may
  // still run at this moment, so the command waits until both have exited.
  if (!recorded.ok() && has_ended && request.IsPlain())
    (void)BackendOf(records.job()).arbiter().EndWithoutRecords(records.job(), request.reason, grace + kKeeperMargin);
  TRY_ASSIGN(const Watched watched, watch);
  if (watched.signal != 0) {
    Say(StrCat("interrupted; the kill of job ", records.job().value, recorded.ok() ? " is recorded" : " may be lost"));
    return 128 + watched.signal;
  }
  if (!watched.kill && !watched.status && !recorded.ok()) return recorded.error();
  const JobStatus& status = watched.status ? *watched.status : before;
  return Report(line, status, Judge(watched, status, request));
}

}  // namespace

Result<int> RunKill(const CommandLine& line) {
  TRY_ASSIGN(const RequestId by_request, RequestIdOption(line));
  TRY_ASSIGN(KillRequest request, ReadKillRequest(line, RealClock().Now()));
  SayWhoAsks(request);
  if (line.words().empty() == by_request.value.empty())
    return Error{ErrorCode::kUsage, "kill: expected JOB or --request-id, and not both"};
  std::optional<JobRecords> records;
  if (line.words().empty()) {
    TRY_ASSIGN(records, FindForKill(by_request, request, TerminalNotes()));
    if (!records) return ReportRemembered(line, by_request, request.if_owner);
  } else {
    const std::string& word = line.words().front();
    auto named = FindNamedJob(word, TerminalNotes());
    if (!named.ok() && IsOfFiles(named.error())) {
      TRY_ASSIGN(const auto exit, KillWithoutRecords(line, {word}, request, Timers().grace, named.error()));
      if (exit) return *exit;
    }
    // The scheduler may allow the kill to a user who may not read the job's files.
    if (!named.ok() && named.error().code == ErrorCode::kNotPermitted) {
      const auto exit = KillWithoutRecords(line, {word}, request, Timers().grace, named.error());
      if (exit.ok() && *exit) return **exit;
    }
    TRY_ASSIGN(records, std::move(named));
  }
  const Status settled = BackendOf(records->job()).arbiter().Settle(*records);
  const auto before = StoredStatus(*records);
  if (before.ok() && HasEnded(*before)) return Report(line, *before, OfEnded(*before, request));
  if (!before.ok() && IsOfFiles(before.error())) {
    const Duration grace = GraceOf(*records, request);
    TRY_ASSIGN(const auto exit, KillWithoutRecords(line, records->job(), request, grace, before.error()));
    if (exit) return *exit;
  }
  TRY(settled);
  TRY(before);
  return KillJob(line, *records, request, *before);
}

}  // namespace tony
