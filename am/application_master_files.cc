// The files that the application master keeps beside its journal: the lease record, the claim record, the status
// document; and the kill requests, which others write. None of them is worth a job: what cannot be written now is tried
// again.
#include <algorithm>
#include <utility>

#include "am/application_master.h"
#include "runtime/base/log.h"
#include "runtime/base/strings.h"

namespace tony::am {
namespace {

// Clients see changes at most this often: a thousand tasks that start together are a few documents, not thousands. One
// of 1000 tasks takes some milliseconds to make, and as long to read: so it is a tenth of a core's time at most.
Duration PushInterval(int tasks) { return std::clamp(Duration(tasks / 10), Duration(20), Duration(200)); }
Duration StatusFileInterval(int tasks) { return std::max(Duration(500), Duration(tasks / 5)); }
// A timer and not inotify: closing that costs an AM 15 ms at the end of every job.
constexpr Duration kKillRequestInterval{1000};
// A full disk may pass; nobody waits for less.
constexpr Duration kBetweenTries{1000};

}  // namespace

bool ApplicationMaster::WriteLease() {
  const Status written = records_.WriteLease(lease_);
  if (!written.ok()) LogWarn(written.error().message);
  published_ |= written.ok();
  const Duration next = job_.spec().timers.record_fresh / 3;
  lease_timer_ = loop_.After(written.ok() ? next : std::min(next, kBetweenTries), [this] { RenewLease(); });
  return written.ok();
}

// An AM that cannot renew goes on ruling; executors that still reach it do not look at the record.
void ApplicationMaster::Renew() {
  ++lease_.renewal;
  if (!WriteLease()) return;
  KeepClaim();
  Observe(LeaseRenewed{});
}

// The keeper decides conditional kills by it where no master can read the journal. So it is written before anybody is
// told of what it says, also before the journal: one that is too new only keeps the keeper from killing. One that is
// too old would let it kill another owner's job: it is removed, and while that fails nobody is told. Nobody knows of a
// master whose lease is not written.
void ApplicationMaster::KeepClaim() {
  const Attention& attention = job_.attention();
  ClaimRecord record = {epoch_, attention.claim(), attention.watcher(), attention.Planned()};
  if (!published_ || kept_claim_ == record) return;
  kept_claim_.reset();
  stale_claim_.clear();
  const Status written = WriteClaimRecord(records_, record);
  if (written.ok()) {
    kept_claim_ = std::move(record);
    return;
  }
  LogWarn(written.error().message);
  if (const Status removed = RemoveClaimRecord(records_); !removed.ok()) stale_claim_ = removed.error().message;
  claim_timer_ = loop_.After(kBetweenTries, [this] { KeepClaim(); });
}

// The record of an AM that does not rule, or can keep no promise, gets stale: nobody is to think itself cut off. But
// where it is must be known.
void ApplicationMaster::RenewLease() {
  if (Rules() && (trouble_.empty() || !published_)) return Renew();
  lease_timer_ = loop_.After(job_.spec().timers.record_fresh / 3, [this] { RenewLease(); });
}

// Who asks for a kill calls, too; the file alone is left where the asker died in between, and by the keeper.
void ApplicationMaster::LookForKillRequest() {
  ReadKillRequests();
  kill_timer_ = loop_.After(kKillRequestInterval, [this] { LookForKillRequest(); });
}

void ApplicationMaster::ReadKillRequests() {
  if (!Rules()) return;
  const auto request = records_.ReadKillRequest();
  if (!request.ok()) return LogWarn(request.error().message);
  if (*request && *request != std::exchange(plain_kill_, *request))
    LogInfo(StrCat("kill-request.json of ", (*request)->asker.empty() ? "the job's own user" : (*request)->asker, ": ",
                   (*request)->reason));
  if (*request) Observe(KillAsked{**request});
  ReadConditionalKills();
}

// The request of a kill that is taken stays, as a plain one does: it holds until the end of the job.
void ApplicationMaster::ReadConditionalKills() {
  const auto conditional = records_.ReadConditionalKills();
  if (!conditional.ok()) return LogWarn(conditional.error().message);
  for (const auto& kill : *conditional) {
    if (!reading_kills_.insert(kill.name).second) continue;
    const KillRequest mine = ByOwnClock(kill.request);
    const bool taken = job_.AnswerTo(mine, loop_.Now()) == KillAnswer::kTaken;
    Observe(KillAsked{mine}, [this, taken, name = kill.name](const std::optional<Refusal>&) {
      if (taken || records_.RemoveConditionalKill(name).ok()) reading_kills_.erase(name);
    });
  }
}

void ApplicationMaster::StatusChanged() {
  scheduler_->TellProgress(job_.Progress());
  if (!push_timer_) {
    AnswerWatches();
    push_timer_ = loop_.After(PushInterval(job_.spec().TotalTasks()), [this] {
      push_timer_.reset();
      AnswerWatches();
    });
  }
  if (status_timer_ || end_told_) return;
  status_timer_ = loop_.After(StatusFileInterval(job_.spec().TotalTasks()), [this] {
    status_timer_.reset();
    if (job_.Ended()) return;  // End() writes the last one
    if (const Status written = records_.WriteStatus(Snapshot(), /*durable=*/false); !written.ok())
      LogWarn(written.error().message);
  });
}

void ApplicationMaster::End() {
  records_.GiveUpReserve();
  const JobStatus last = JobAndSubmission();
  if (const Status written = records_.WriteStatus(last, /*durable=*/true); !written.ok()) {
    const std::string& why = written.error().message;  // names a file that is another each time
    TellTrouble(StrCat("status.json: ", why.substr(why.rfind(": ") + 2), ", the end of the job waits"));
    end_timer_ = loop_.After(kBetweenTries, [this] { End(); });
    return;
  }
  trouble_.clear();
  status_timer_.reset();
  LogInfo(StrCat("job ", ToString(job_.state()), ": ", job_.verdict()->message));
  end_told_ = true;
  AnswerWatches();
  scheduler_->Finish(*job_.verdict(), [this] {
    if (auto on_end = std::exchange(on_end_, nullptr)) on_end();
  });
}

}  // namespace tony::am
