// What clients ask of the application master, and what they are shown.
#include <algorithm>
#include <utility>

#include "am/application_master.h"
#include "runtime/base/log.h"
#include "runtime/base/strings.h"

namespace tony::am {
namespace {

void LogAsker(const KillRequest& request) {
  LogInfo(StrCat("asked for a kill by ", request.asker.empty() ? "the job's own user" : request.asker, ": ",
                 request.reason));
}

}  // namespace

void ApplicationMaster::GetStatus(const std::string& token, Reply<StatusAnswer> reply) {
  Watch(token, /*since=*/-1, Duration(0), {}, std::move(reply));
}

void ApplicationMaster::Watch(const std::string& token, int64_t since, Duration limit, const WatcherToken& watcher,
                              Reply<StatusAnswer> reply) {
  if (!Admit(token, reply)) return;
  Observe(Looked{watcher});
  if (watcher.value.empty()) return TellOrPark(since, limit, reply);
  WhenClaimIsKept([this, since, limit, reply] {
    if (!stale_claim_.empty()) return reply.Refuse(RefusalReason::kNotRuling, stale_claim_);
    TellOrPark(since, limit, reply);
  });
}

void ApplicationMaster::TellOrPark(int64_t since, Duration limit, const Reply<StatusAnswer>& reply) {
  const bool news = end_told_ || (job_.seq() > since && !push_timer_);
  if (MayTell() && news) return reply.Success(CurrentStatus());
  // Where an end is about to be written, even a caller who would not wait gets it; that takes one sync.
  const Duration wait = MayTell() ? std::min(limit, LongestWatch()) : LongestWatch();
  parked_.ParkWatch(since, wait, reply, [this] { return CurrentStatus(); });
}

void ApplicationMaster::Kill(const std::string& token, const KillRequest& plain, Reply<StatusAnswer> reply) {
  if (!Admit(token, reply)) return;
  LogAsker(plain);
  if (!trouble_.empty()) {  // it is done, if not written; the asker stays, and tells a later AM, too
    Observe(KillAsked{plain});
    return GetStatus(token, reply);
  }
  Observe(KillAsked{plain}, [this, token, reply](const std::optional<Refusal>&) { GetStatus(token, reply); });
}

// While nothing can be written nobody could rely on a plan, nor on a condition that may have changed since. What the
// asker has recorded in the folder is settled first: what has been refused here may not be taken from there later, when
// its condition has come true.
void ApplicationMaster::KillIf(const std::string& token, const KillRequest& request, Reply<KillReply> reply) {
  if (!Admit(token, reply)) return;
  if (!trouble_.empty()) return reply.Refuse(RefusalReason::kNotRuling, trouble_);
  LogAsker(request);
  calls_.Ask([](const JobRecords& records) { return records.ReadConditionalKills(); },
             [this, token, mine = ByOwnClock(request), reply](const auto& recorded) {
               if (!Admit(token, reply)) return;
               if (!trouble_.empty()) return reply.Refuse(RefusalReason::kNotRuling, trouble_);
               const KillAnswer answer = job_.AnswerTo(mine, loop_.Now());
               if (recorded.ok()) {
                 TakeConditionalKills(*recorded);
               } else {
                 LogWarn(recorded.error().message);
               }
               Observe(KillAsked{mine}, [this, answer, reply](const std::optional<Refusal>&) {
                 reply.Success({answer, CurrentStatus()});
               });
             });
}

KillRequest ApplicationMaster::ByOwnClock(KillRequest request) const {
  if (request.due != Instant{} && request.delay > Duration(0)) request.due = loop_.Now() + request.delay;
  return request;
}

void ApplicationMaster::Attach(const std::string& token, const Claim& claim, Reply<AttachReply> reply) {
  if (!Admit(token, reply)) return;
  if (!trouble_.empty()) return reply.Refuse(RefusalReason::kNotRuling, trouble_);
  const bool attached = job_.MayAttach();
  Observe(AttachAsked{claim}, [this, attached, reply](const std::optional<Refusal>&) {
    if (!stale_claim_.empty()) return reply.Refuse(RefusalReason::kNotRuling, stale_claim_);
    reply.Success({attached, CurrentStatus()});
  });
}

void ApplicationMaster::ReadLogs(const std::string& token, const LogQuery& query, Reply<LogAnswer> reply) {
  if (!Admit(token, reply)) return;
  for (const LogWant& want : query.wants) {
    const RoleSpec* role = job_.spec().FindRole(want.attempt.task.role);
    if (!role || want.attempt.task.index >= role->instances)
      return reply.Refuse(RefusalReason::kBadRequest, StrCat("there is no task ", ToString(want.attempt.task)));
  }
  log_relay_.Read(query, reply);
}

JobStatus ApplicationMaster::ShowStatus() {
  if (Rules()) Observe(Looked{});
  return Snapshot();
}

// While an end cannot be written, a status without it is better than none.
bool ApplicationMaster::MayTell() const { return !job_.Ended() || end_told_ || !trouble_.empty(); }

void ApplicationMaster::AnswerWatches() {
  if (MayTell() && parked_.AnyWatch()) parked_.Tell(CurrentStatus());
}

StatusAnswer ApplicationMaster::CurrentStatus() const {
  return {.seq = job_.seq(), .epoch = epoch_, .ended = end_told_, .status_json = ToJson(Snapshot())};
}

JobStatus ApplicationMaster::JobAndSubmission() const {
  JobStatus status = job_.Snapshot(submission_.user, submission_.time);
  status.request = submission_.request;
  status.number = submission_.number;
  for (TaskStatus& task : status.tasks) {
    // A node shows those of the first attempt of a container.
    const auto url = log_urls_.find(task.id);
    if (url != log_urls_.end() && url->second.first.number == task.attempt) task.log_url = url->second.second;
  }
  return status;
}

JobStatus ApplicationMaster::Snapshot() const {
  JobStatus status = JobAndSubmission();
  status.tracking_url = tracking_url_;
  status.delay = delay_;
  status.trouble = trouble_;
  if (job_.Ended() && !end_told_) {
    status.state = ToString(JobState::kStopping);
    status.verdict.reset();
    status.ended.reset();
  }
  return status;
}

}  // namespace tony::am
