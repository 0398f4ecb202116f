// `tony kill`: records the wish in the job's folder, tells the AM, and waits until nothing is left. May be repeated.
// With conditions it is the AM that judges them, or the keeper where no AM can rule; a kill of a request that has no
// job yet is remembered for its owner.
#include <optional>

#include "runtime/backend/backend.h"
#include "runtime/base/strings.h"
#include "runtime/client/commands.h"
#include "runtime/client/contract_options.h"
#include "runtime/client/kill_target.h"
#include "runtime/client/named_job.h"
#include "runtime/client/next_steps.h"
#include "runtime/client/output.h"
#include "runtime/client/progress.h"
#include "runtime/client/watch_job.h"
#include "runtime/store/owners_rights.h"

namespace tony {
namespace {

// How long a kill that does not wait tries to tell an AM; one that comes later reads the request from the folder.
constexpr Duration kTellLimit{2000};

struct Effect {
  bool killed = false;   // the job is being ended, or has been
  bool planned = false;  // it may be later
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
  SayNext(line, {StrCat(HasEnded(status) ? "history " : "wait ", job), StrCat("logs ", job)});
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
          .words = StrCat("has ended already: ", VerdictLine(status))};
}

Effect Judge(const Watched& watched, const JobStatus& status, const KillRequest& request) {
  if (watched.kill == KillAnswer::kFenced)
    return {.fenced = true, .words = "was left alone: somebody else owns or watches it now"};
  if (HasEnded(status)) return {.killed = status.verdict->state == FinalState::kKilled, .words = VerdictLine(status)};
  if (watched.kill == KillAnswer::kPlanned)
    return {.planned = true, .words = StrCat("will be killed at ", ToIso8601(request.due), " if nobody else has come")};
  if (watched.kill || request.IsPlain()) return {.killed = true, .words = "is being killed"};
  return {.planned = true, .words = "will be killed if its application master allows it; it does not answer now"};
}

// Neither socket nor file shows an AM that it was root who asked with the owner's rights.
void SayWhoAsks(KillRequest& request) {
  request.asker = WhoTookOwnersRights();
  request.reason = ReasonWithAsker(request);
  request.asker.clear();
}

Result<int> KillJob(const CommandLine& line, const JobRecords& records, const KillRequest& request,
                    const JobStatus& before) {
  // A full disk keeps nobody from telling the AM.
  const auto recorded = RecordKill(records, request);
  if (!recorded.ok()) Say(StrCat("tony: ", recorded.error().message, "; only telling the application master"));
  EventLoop loop;
  const auto launcher = BackendOf(records.job()).MakeLauncher(loop);
  Interrupts interrupts(loop);
  WatchOptions options = {.kill = request, .kill_name = recorded.ok() ? *recorded : ""};
  options.until_told = line.Has("no-wait") || request.due != Instant{};
  if (options.until_told) {
    options.limit = kTellLimit;
  } else {
    options.on_status = SayChanges();
  }
  TRY_ASSIGN(const Watched watched, WatchJob(loop, interrupts, records, *launcher, options));
  if (watched.signal != 0) {
    Say(StrCat("interrupted; the kill of job ", records.job().value,
               recorded.ok() ? " is recorded" : " may be forgotten"));
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
    TRY_ASSIGN(records, FindForKill(by_request, request));
    if (!records) return ReportRemembered(line, by_request, request.if_owner);
  } else {
    TRY_ASSIGN(records, FindNamedJob(line.words().front()));
  }
  TRY(BackendOf(records->job()).arbiter().Settle(*records));
  TRY_ASSIGN(const JobStatus before, StoredStatus(*records));
  if (HasEnded(before)) return Report(line, before, OfEnded(before, request));
  return KillJob(line, *records, request, before);
}

}  // namespace tony
