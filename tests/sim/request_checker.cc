#include "tests/sim/request_checker.h"

#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/records/request_index.h"

namespace tony::sim {

std::vector<std::string> RequestChecker::Check(const RequestPlan& plan, const RequestHistory& history) {
  RequestChecker checker(plan);
  for (const RequestEvent& event : history.events) checker.See(event);
  checker.CheckSettled(history);
  return checker.complaints_;
}

void RequestChecker::Complain(const RequestEvent& event, const std::string& what) {
  complaints_.push_back(StrCat("[", Describe(event), "] ", what));
}

void RequestChecker::See(const RequestEvent& event) {
  switch (event.kind) {
    case RequestEventKind::kSubmitBegan:
      submits_[event.actor].began = event.time;
      return;
    case RequestEventKind::kSubmitEnded:
      return SeeSubmitEnded(event);
    case RequestEventKind::kSubmitDied:
      submits_[event.actor].died = true;
      return;
    case RequestEventKind::kRead:
      submits_[event.actor].read = event.record;
      return;
    case RequestEventKind::kRecorded:
      return SeeRecorded(event);
    case RequestEventKind::kJobMade:
      return SeeMade(event);
    case RequestEventKind::kAttached:
      return SeeAttached(event);
    case RequestEventKind::kRevoked:
      revocations_.push_back({event.actor, event.request.if_owner, event.time});
      return;
    case RequestEventKind::kKillAsked:
      return SeeKillAsked(event);
    case RequestEventKind::kKillAnswered:
      return SeeKillAnswered(event);
    case RequestEventKind::kKillDone:
      return SeeKillDone(event);
    case RequestEventKind::kBegan:
      return SeeBegan(event);
    case RequestEventKind::kLooked:
      return SeeLooked(event);
    case RequestEventKind::kStopping:
      return SeeStopping(event);
    case RequestEventKind::kEnded:
      jobs_[event.job].ended = event.time;
      return;
    case RequestEventKind::kGone:
      jobs_[event.job].gone = true;
      return;
    case RequestEventKind::kConsumed:
      jobs_[event.job].consumed = event.time;
      return;
  }
}

// ---- submits

bool RequestChecker::WasRevokedBefore(int submit, Instant now) const {
  const OwnerToken& owner = plan_.submits[submit].claim.owner;
  return std::ranges::any_of(revocations_, [&](const Revocation& r) {
    return r.owner == owner && submits_[submit].began > r.time && now < r.time + kRevocationLasts;
  });
}

// Checks a submit that creates a job or attaches to one.
void RequestChecker::CheckMayHaveJob(const RequestEvent& event) {
  const SubmitAsk& ask = plan_.submits[event.actor].ask;
  // Without a lock, a submit may attach to a job that another client replaces meanwhile.
  const bool knows_all = plan_.has_lock || event.kind == RequestEventKind::kJobMade;
  const int64_t known = knows_all ? record_.newest_number : submits_[event.actor].read.newest_number;
  if (ask.number < known) Complain(event, StrCat("number ", known, " is known"));
  if (knows_all && ask.number < replaced_for_) Complain(event, StrCat("a job was killed for number ", replaced_for_));
  if (WasRevokedBefore(event.actor, event.time)) Complain(event, "its owner was revoked by a kill before this submit");
  if (submits_[event.actor].died) Complain(event, "it is dead");
}

void RequestChecker::SeeRecorded(const RequestEvent& event) {
  if (event.record.newest_number < record_.newest_number) Complain(event, "the newest number falls");
  if (event.record.newest_number > plan_.submits[event.actor].ask.number) Complain(event, "a number nobody asked for");
  const auto taken = event.record.job ? jobs_.find(*event.record.job) : jobs_.end();
  if (taken != jobs_.end() && event.record.newest_number == record_.newest_number) {  // the submit takes the job over
    SeenSubmit& submit = submits_[event.actor];
    submit.asker = RequesterOf(taken->second, event.actor);
    const bool had_ended = taken->second.ended && taken->second.ended < submit.began;
    submit.took_others = had_ended && IsOfAnotherRun(taken->second, event.actor);
    taken->second.run = event.record.run;
  }
  record_ = event.record;
}

SubmitterKind RequestChecker::RequesterOf(const SeenJob& job, int submit) const {
  const SubmitterKind asker = plan_.submits[submit].ask.asker;
  return asker == SubmitterKind::kLaterTry && IsOfAnotherRun(job, submit) ? SubmitterKind::kFirstTry : asker;
}

bool RequestChecker::IsOfAnotherRun(const SeenJob& job, int submit) const {
  const RunToken& run = plan_.submits[submit].ask.run;
  return !run.value.empty() && !job.run.value.empty() && run != job.run;
}

bool RequestChecker::Differs(const SeenJob& job, int submit) const {
  return plan_.submits[job.maker].program != plan_.submits[submit].program;
}

bool RequestChecker::MayFollow(const SeenJob& job, int submit) const {
  const bool differs = Differs(job, submit);
  if (IsOfAnotherRun(job, submit)) return true;
  switch (RequesterOf(job, submit)) {
    case SubmitterKind::kFirstTry:
      return differs || job.consumed;
    case SubmitterKind::kLaterTry:
      return differs && job.consumed;
    case SubmitterKind::kPerson:
      break;
  }
  return differs;
}

void RequestChecker::SeeMade(const RequestEvent& event) {
  CheckMayHaveJob(event);
  const PlannedSubmit& submit = plan_.submits[event.actor];
  if (record_.job != event.job) Complain(event, "the request id does not find it");
  if (record_.digest != DigestOf(submit)) Complain(event, "its digest is not recorded");
  if (record_.run != submit.ask.run) Complain(event, "its run is not recorded");
  for (const auto& [id, job] : jobs_)
    if (job.began && !job.gone) Complain(event, StrCat("job ", id.value, " still runs"));
  if (newest_job_) {
    const SeenJob& before = jobs_[*newest_job_];
    const bool same = before.number == submit.ask.number;
    if (before.ended && before.final_state == FinalState::kSucceeded && same &&
        submit.ask.on_existing == OnExisting::kAdopt && !MayFollow(before, event.actor))
      Complain(event, StrCat("job ", newest_job_->value, " has succeeded"));
    if (!before.began && !before.ended && !before.kill_asked)
      Complain(event, StrCat("job ", newest_job_->value, " may still be started"));
  }
  newest_job_ = event.job;
  SeenJob& made = jobs_[event.job];
  made.maker = event.actor;
  made.number = submit.ask.number;
  made.claim = submit.claim;
  made.run = submit.ask.run;
}

void RequestChecker::SeeAttached(const RequestEvent& event) {
  CheckMayHaveJob(event);
  const PlannedSubmit& submit = plan_.submits[event.actor];
  SeenJob& job = jobs_[event.job];
  if (submit.ask.on_existing == OnExisting::kNever) Complain(event, "never is its policy");
  if (submit.ask.number != job.number) Complain(event, StrCat("the job has number ", job.number));
  if (Differs(job, event.actor) && RequesterOf(AsRead(job, event.actor), event.actor) != SubmitterKind::kLaterTry)
    Complain(event, "it runs something else");
  if (job.ended || (job.stopping && job.final_state != FinalState::kSucceeded)) Complain(event, "it is being ended");
  submits_[event.actor].attached.insert(event.job);
  job.claim = submit.claim;
  job.last_look = event.time;
  for (Planned& planned : job.planned) {
    const OwnerToken& owner = planned.request.if_owner;
    if (!owner.value.empty() && owner != submit.claim.owner) planned.is_void = true;
  }
}

void RequestChecker::SeeSubmitEnded(const RequestEvent& event) {
  const PlannedSubmit& plan = plan_.submits[event.actor];
  SeenSubmit& submit = submits_[event.actor];
  submit.end = event.end;
  submit.ended = event.time;
  const SeenJob* job = jobs_.contains(event.job) ? &jobs_[event.job] : nullptr;
  switch (event.end) {
    case SubmitEnd::kCreated:
      if (!job || job->maker != event.actor) Complain(event, "it did not make that job");
      return;
    case SubmitEnd::kAttached:
      if (!submit.attached.contains(event.job)) Complain(event, "it did not attach to that job");
      return;
    case SubmitEnd::kAdopted:
      if (!job || !job->stopping || job->final_state != FinalState::kSucceeded) Complain(event, "it did not succeed");
      if (job && job->number != plan.ask.number) Complain(event, StrCat("the job has number ", job->number));
      if (plan.ask.on_existing != OnExisting::kAdopt) Complain(event, "adopt is not its policy");
      if (WasRevokedBefore(event.actor, event.time))
        Complain(event, "its owner was revoked by a kill before this submit");
      if (job) CheckAdopted(*job, event);
      return;
    case SubmitEnd::kRefusedDiffers:
      if (plan.ask.asker != SubmitterKind::kPerson) Complain(event, "an engine asks");
      if (!job || !Differs(*job, event.actor)) Complain(event, "the job is the same");
      return;
    case SubmitEnd::kRefusedStale:
      if (record_.newest_number <= plan.ask.number) Complain(event, "no newer number is known");
      return;
    case SubmitEnd::kRefusedRevoked: {
      const bool told = std::ranges::any_of(revocations_, [&](const auto& r) { return r.owner == plan.claim.owner; });
      if (!told) Complain(event, "its owner was not told to stop");
      return;
    }
  }
}

// The submit need not have seen a result that was consumed or recorded only during its own decision.
void RequestChecker::CheckAdopted(const SeenJob& job, const RequestEvent& event) {
  if (submits_[event.actor].took_others) Complain(event, "it is the result of another run");
  const bool differs = Differs(job, event.actor);
  const bool consumed = job.consumed && *job.consumed < submits_[event.actor].began;
  switch (submits_[event.actor].asker.value_or(RequesterOf(job, event.actor))) {
    case SubmitterKind::kFirstTry:
      if (consumed) Complain(event, "its result was consumed before");
      break;
    case SubmitterKind::kLaterTry:
      if (!consumed) return;
      break;
    case SubmitterKind::kPerson:
      break;
  }
  if (differs) Complain(event, "it was made of something else");
}

// ---- kills

bool RequestChecker::Holds(const KillRequest& request, const SeenJob& job) {
  const bool owner = request.if_owner.value.empty() || request.if_owner == job.claim.owner;
  const bool watcher = request.if_watcher.value.empty() || request.if_watcher == job.watcher;
  return owner && watcher;
}

// Without a lock, a submit acts on the record that it has read, and another submit may have changed it since.
RequestChecker::SeenJob RequestChecker::AsRead(SeenJob job, int submit) {
  if (!plan_.has_lock) job.run = submits_[submit].read.run;
  return job;
}

void RequestChecker::SeeKillAsked(const RequestEvent& event) {
  SeenJob& job = jobs_[event.job];
  if (event.request.IsPlain()) job.kill_asked = true;
  if (event.actor >= kFirstKill) return;
  const PlannedSubmit& submit = plan_.submits[event.actor];
  if (!event.request.IsPlain()) {
    if (event.request.if_owner != submit.claim.owner) Complain(event, "a submit may end only its own job");
    return;
  }
  const bool never = submit.ask.on_existing == OnExisting::kNever && submit.ask.number == job.number;
  const bool first =
      RequesterOf(AsRead(job, event.actor), event.actor) == SubmitterKind::kFirstTry && submit.ask.number == job.number;
  const bool other = first && Differs(job, event.actor);
  if (submit.ask.number <= job.number && !never && !other) Complain(event, "it may not replace that job");
  replaced_for_ = std::max(replaced_for_, submit.ask.number);
}

void RequestChecker::SeeKillAnswered(const RequestEvent& event) {
  SeenJob& job = jobs_[event.job];
  const bool holds = Holds(event.request, job);
  switch (event.answer) {
    case KillAnswer::kTaken:
      if (!holds && !job.stopping) Complain(event, "its condition does not hold");
      return;
    case KillAnswer::kPlanned:
      if (!holds) Complain(event, "its condition does not hold");
      job.planned.push_back({event.request});
      return;
    case KillAnswer::kFenced:
      if (holds) Complain(event, "its condition holds");
      return;
    case KillAnswer::kEnded:
      if (!job.stopping) Complain(event, "the job has not ended");
      return;
  }
}

void RequestChecker::SeeKillDone(const RequestEvent& event) {
  const bool at_once = event.request.if_watcher.value.empty() && event.request.due == Instant{};
  for (Revocation& revocation : revocations_)
    if (revocation.kill == event.actor) revocation.done = at_once;
}

// ---- jobs

void RequestChecker::SeeBegan(const RequestEvent& event) {
  for (const auto& [id, job] : jobs_)
    if (job.began && !job.gone) Complain(event, StrCat("job ", id.value, " still runs"));
  if (record_.job != event.job) Complain(event, "the request id does not find it");
  SeenJob& job = jobs_[event.job];
  if (job.kill_asked) Complain(event, "it was killed before");
  job.began = true;
  job.last_look = event.time;
}

void RequestChecker::SeeLooked(const RequestEvent& event) {
  SeenJob& job = jobs_[event.job];
  job.last_look = event.time;
  if (event.watcher.value.empty()) return;
  job.watcher = event.watcher;
  for (Planned& planned : job.planned) {
    const WatcherToken& watcher = planned.request.if_watcher;
    if (!watcher.value.empty() && watcher != event.watcher) planned.is_void = true;
  }
}

void RequestChecker::SeeStopping(const RequestEvent& event) {
  SeenJob& job = jobs_[event.job];
  if (job.stopping) Complain(event, "it was stopping before");
  job.stopping = true;
  job.final_state = event.final_state;
  switch (event.cause) {
    case EndCause::kItself:
      return CheckEndedByItself(job, event);
    case EndCause::kKill:
      return CheckKilled(job, event);
    case EndCause::kAbandoned:
      if (job.claim.watch_timeout == Duration(0) || event.time - job.last_look < job.claim.watch_timeout)
        Complain(event, "it was not abandoned");
      return;
  }
}

void RequestChecker::CheckKilled(const SeenJob& job, const RequestEvent& event) {
  if (event.time < event.request.due) Complain(event, "the kill is not due");
  if (!Holds(event.request, job)) Complain(event, "the kill's condition does not hold");
  if (event.actor >= 0) return;  // an unplanned kill, done at once
  const bool planned =
      std::ranges::any_of(job.planned, [&](const Planned& p) { return p.request == event.request && !p.is_void; });
  if (!planned) Complain(event, "the planned kill is void");
}

// If a kill was done wholly and a submit of the same owner was not revoked, one of the two must have seen the other.
void RequestChecker::CheckEndedByItself(const SeenJob& job, const RequestEvent& event) {
  if (job.claim.owner.value.empty()) return;
  for (const Revocation& revocation : revocations_) {
    if (!revocation.done || revocation.owner != job.claim.owner) continue;
    for (size_t i = 0; i < submits_.size(); ++i) {
      const SeenSubmit& submit = submits_[i];
      const bool has_it = submit.end == SubmitEnd::kCreated || submit.end == SubmitEnd::kAttached;
      if (plan_.submits[i].claim.owner != job.claim.owner || !has_it) continue;
      if (submit.ended < revocation.time + kRevocationLasts)
        Complain(event, StrCat("the kill of owner ", revocation.owner.value, " was in vain"));
    }
  }
}

void RequestChecker::CheckSettled(const RequestHistory& history) {
  if (!history.settled) complaints_.push_back("it goes on for ever");
  for (size_t i = 0; i < submits_.size(); ++i) {
    if (!submits_[i].died && !submits_[i].end) complaints_.push_back(StrCat("submit ", i, " has not ended"));
  }
  for (const auto& [id, job] : jobs_)
    if (job.began && !job.gone) complaints_.push_back(StrCat("job ", id.value, " has not ended"));
}

}  // namespace tony::sim
