#include "runtime/keeper/requests_without_am.h"

#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/job/claim.h"

namespace tony::keeper {
namespace {

Verdict KilledBy(const KillRequest& request) {
  return {.state = FinalState::kKilled, .cls = OutcomeClass::kKilled, .message = ReasonWithAsker(request)};
}

// The asker's clock is his own.
KillRequest ByOwnClock(KillRequest request, Instant now) {
  if (request.due != Instant{} && request.delay > Duration(0)) request.due = now + request.delay;
  return request;
}

}  // namespace

RequestsWithoutAm::RequestsWithoutAm(JobRecords records) : records_(std::move(records)), looks_(records_) {}

std::optional<RequestsWithoutAm::End> RequestsWithoutAm::Look(Instant now) {
  const auto plain = records_.ReadKillRequest();
  if (plain.ok() && *plain) return End{KilledBy(**plain), (*plain)->grace};
  Learn(now);
  attention_.Wake(now);
  SeeWhoLooks(now);  // before any kill: a watcher that has come voids it
  if (auto end = HearKills(now)) return end;
  if (const auto due = attention_.Due(now)) return Take(due->name, due->request);
  const auto unwatched = attention_.AbandonedFor(now);
  if (!unwatched) return std::nullopt;
  return End{Abandoned(*unwatched)};
}

void RequestsWithoutAm::Learn(Instant now) {
  if (attention_.knows()) return;
  const auto told = ReadClaimRecord(records_);
  if (told.ok()) {
    epoch_ = told->epoch;
    return attention_.Know(*told, now);
  }
  if (std::exchange(unknown_, told.error().message) != unknown_)
    LogWarn(StrCat("kills with a condition and the watch timeout do nothing: ", unknown_));
}

void RequestsWithoutAm::SeeWhoLooks(Instant now) {
  if (!attention_.knows()) return;  // the names are read when they can be judged
  const auto looks = looks_.Read();
  if (looks.any) attention_.Look({}, now);
  for (const auto& look : looks.named)
    if (look.epoch == epoch_) attention_.Look(look.watcher, now);
  for (const auto& plan : attention_.TakeVoid()) {
    LogInfo(StrCat("a planned kill is void, watcher ", plan.request.if_watcher.value, " is not the newest any more"));
    Settle(plan.name, {KillAnswer::kFenced, ""});
  }
}

std::optional<RequestsWithoutAm::End> RequestsWithoutAm::HearKills(Instant now) {
  const auto kills = records_.ReadConditionalKills();
  if (!kills.ok()) LogWarn(kills.error().message);
  if (!kills.ok()) return std::nullopt;
  for (const auto& kill : *kills)
    if (auto end = Decide(kill, now)) return end;
  return std::nullopt;
}

std::optional<RequestsWithoutAm::End> RequestsWithoutAm::Decide(const JobRecords::NamedKillRequest& kill, Instant now) {
  const KillRequest mine = ByOwnClock(kill.request, now);
  const auto answer = attention_.Hear(kill.name, mine, now);
  if (!answer) {
    const std::string why =
        StrCat("no application master can rule the job, and who owns and watches it is not known: ", unknown_,
               "; a kill without a condition ends it");
    LogWarn(StrCat("kill request ", kill.name, " (", kill.request.reason, ") refused: ", why));
    Settle(kill.name, {std::nullopt, why});
    return std::nullopt;
  }
  switch (*answer) {
    case KillAnswer::kTaken:
      return Take(kill.name, mine);
    case KillAnswer::kFenced:
      LogInfo(StrCat("kill request ", kill.name, " (", kill.request.reason, ") does nothing: its condition fails"));
      Settle(kill.name, {KillAnswer::kFenced, ""});
      return std::nullopt;
    case KillAnswer::kPlanned:
      if (const auto told = ReadFiledAnswer(records_, kill.name); told.ok() && *told) return std::nullopt;
      if (const Status written = WriteFiledAnswer(records_, kill.name, {KillAnswer::kPlanned, ""}); !written.ok())
        LogWarn(written.error().message);
      return std::nullopt;
    case KillAnswer::kEnded:
      return std::nullopt;
  }
  return std::nullopt;
}

// The asker is told when it holds whatever becomes of this keeper.
RequestsWithoutAm::End RequestsWithoutAm::Take(const std::string& name, const KillRequest& request) {
  LogInfo(StrCat("a kill with a condition is taken: ", ReasonWithAsker(request)));
  const Status kept = records_.WriteKillRequest({.reason = ReasonWithAsker(request), .grace = request.grace});
  if (kept.ok()) {
    Settle(name, {KillAnswer::kTaken, ""});
  } else {
    LogWarn(kept.error().message);
  }
  return {KilledBy(request), request.grace};
}

void RequestsWithoutAm::Settle(const std::string& name, const FiledAnswer& filed) {
  if (name.empty()) return;
  const Status written = WriteFiledAnswer(records_, name, filed);
  if (!written.ok()) return LogWarn(written.error().message);  // the asker waits for it: at the next look
  if (const Status removed = records_.RemoveConditionalKill(name); !removed.ok()) LogWarn(removed.error().message);
}

std::optional<SilentKill> KillOfSilentMaster(const JobRecords& records) {
  const auto plain = records.ReadKillRequest();
  if (plain.ok() && *plain) return SilentKill{**plain, ""};
  const auto kills = records.ReadConditionalKills();
  if (!kills.ok() || kills->empty()) return std::nullopt;
  const auto lease = records.ReadLease();
  const auto submission = records.ReadSubmission();
  if (!lease.ok() || *lease || !submission.ok()) return std::nullopt;
  for (const auto& [name, request] : *kills) {
    const bool is_later = request.due != Instant{} || request.delay > Duration(0);
    if (!is_later && Holds(request, submission->claim.owner, {})) return SilentKill{request, name};
  }
  return std::nullopt;
}

RequestsWithoutAm::End Take(const JobRecords& records, const SilentKill& kill) {
  const RequestsWithoutAm::End end{KilledBy(kill.request), kill.request.grace};
  if (kill.name.empty()) return end;
  Status told = records.WriteKillRequest({.reason = end.verdict.message, .grace = end.grace});
  if (told.ok()) told = WriteFiledAnswer(records, kill.name, {KillAnswer::kTaken, ""});
  if (told.ok()) told = records.RemoveConditionalKill(kill.name);
  if (!told.ok()) LogWarn(told.error().message);
  return end;
}

}  // namespace tony::keeper
