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

// `then`, if it is written.
void ApplicationMaster::WriteLease(std::function<void()> then) {
  calls_.Ask([lease = lease_](const JobRecords& records) { return records.WriteLease(lease); },
             [this, then = std::move(then)](const Status& written) {
               if (!written.ok()) LogWarn(written.error().message);
               published_ |= written.ok();
               const Duration next = job_.spec().timers.record_fresh / 3;
               lease_timer_ =
                   loop_.After(written.ok() ? next : std::min(next, kBetweenTries), [this] { RenewLease(); });
               if (written.ok()) then();
             });
}

// An AM that cannot renew goes on ruling; executors that still reach it do not look at the record.
void ApplicationMaster::Renew() {
  ++lease_.renewal;
  WriteLease([this] {
    KeepClaim();
    if (IsLeader()) Observe(LeaseRenewed{});
  });
}

// The keeper decides conditional kills by it where no master can read the journal. So it is written before anybody is
// told of what it says: one that is too new only keeps the keeper from killing. One that is too old would let it kill
// another owner's job: it is removed, and while that fails nobody is told. Nobody knows of a master whose lease is not
// written.
void ApplicationMaster::KeepClaim() {
  const Ownership& ownership = job_.ownership();
  const ClaimRecord record = {epoch_, ownership.claim(), ownership.watcher(), ownership.Planned()};
  if (!published_ || kept_claim_ == record) return;
  kept_claim_ = record;
  ++claims_asked_;
  struct Kept {
    Status written = Ok();
    Status removed = Ok();  // where it is not written
  };
  calls_.Ask(
      [record](const JobRecords& records) {
        Kept kept{.written = WriteClaimRecord(records, record)};
        if (!kept.written.ok()) kept.removed = RemoveClaimRecord(records);
        return kept;
      },
      [this, record](const Kept& kept) {
        ++claims_over_;
        stale_claim_ = kept.removed.ok() ? "" : kept.removed.error().message;
        if (!kept.written.ok()) {
          LogWarn(kept.written.error().message);
          if (kept_claim_ == record) kept_claim_.reset();
          claim_timer_ = loop_.After(kBetweenTries, [this] { KeepClaim(); });
        }
        while (!after_claim_.empty() && after_claim_.front().first <= claims_over_) {
          const auto fn = std::move(after_claim_.front().second);
          after_claim_.pop_front();
          fn();
        }
        FinishWritten();
      });
}

void ApplicationMaster::WhenClaimIsKept(std::function<void()> fn) {
  if (claims_over_ == claims_asked_) return fn();
  after_claim_.emplace_back(claims_asked_, std::move(fn));
}

// The record of an AM that does not rule, or can keep no promise, gets stale: nobody is to think itself cut off. But
// where it is must be known.
void ApplicationMaster::RenewLease() {
  if (IsLeader() && (trouble_.empty() || !published_)) return Renew();
  lease_timer_ = loop_.After(job_.spec().timers.record_fresh / 3, [this] { RenewLease(); });
}

// Who asks for a kill calls, too; the file alone is left where the asker died in between, and by the keeper.
void ApplicationMaster::LookForKillRequest() {
  ReadKillRequests();
  kill_timer_ = loop_.After(kKillRequestInterval, [this] { LookForKillRequest(); });
}

void ApplicationMaster::ReadKillRequests() {
  if (!IsLeader() || std::exchange(looks_for_kills_, true)) return;
  struct Kills {
    Result<std::optional<KillRequest>> plain;
    Result<std::vector<JobRecords::NamedKillRequest>> conditional;
  };
  calls_.Ask(
      [](const JobRecords& records) {
        return Kills{records.ReadKillRequest(), records.ReadConditionalKills()};
      },
      [this](const Kills& kills) {
        looks_for_kills_ = false;
        if (!IsLeader()) return;
        if (!kills.plain.ok()) return LogWarn(kills.plain.error().message);
        if (*kills.plain) TakePlainKill(**kills.plain);
        if (!kills.conditional.ok()) return LogWarn(kills.conditional.error().message);
        TakeConditionalKills(*kills.conditional);
      });
}

void ApplicationMaster::TakePlainKill(const KillRequest& request) {
  if (request != std::exchange(plain_kill_, request))
    LogInfo(StrCat("kill-request.json of ", request.asker.empty() ? "the job's own user" : request.asker, ": ",
                   request.reason));
  Observe(KillAsked{request});
}

// The request of a kill that is taken stays, as a plain one does: it holds until the end of the job.
void ApplicationMaster::TakeConditionalKills(const std::vector<JobRecords::NamedKillRequest>& kills) {
  for (const auto& kill : kills) {
    if (!reading_kills_.insert(kill.name).second) continue;
    const KillRequest mine = ByOwnClock(kill.request);
    const bool taken = job_.AnswerTo(mine, loop_.Now()) == KillAnswer::kTaken;
    Observe(KillAsked{mine}, [this, taken, name = kill.name](const std::optional<Refusal>&) {
      if (taken) {
        reading_kills_.erase(name);
        return;
      }
      calls_.Ask([name](const JobRecords& records) { return records.RemoveConditionalKill(name); },
                 [this, name](const Status& removed) {
                   if (removed.ok()) reading_kills_.erase(name);
                 });
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
  status_changed_ = true;
  WriteStatusLater();
}

// One at a time, also where the store takes longer than the interval.
void ApplicationMaster::WriteStatusLater() {
  if (status_timer_ || !status_changed_ || end_told_) return;
  status_timer_ = loop_.After(StatusFileInterval(job_.spec().TotalTasks()), [this] {
    if (job_.Ended()) return;  // End() writes the last one
    status_changed_ = false;
    calls_.Ask([status = Snapshot()](
                   const JobRecords& records) { return records.WriteStatus(status, Durability::kLostWithPower); },
               [this](const Status& written) {
                 if (!written.ok()) LogWarn(written.error().message);
                 status_timer_.reset();
                 WriteStatusLater();
               });
  });
}

void ApplicationMaster::End() {
  calls_.Ask(
      [last = JobAndSubmission()](const JobRecords& records) {
        records.GiveUpReserve();
        return records.WriteStatus(last, Durability::kSurvivesPowerCut);
      },
      [this](const Status& written) {
        if (written.ok() || unwritten_) return TellEnd();
        const std::string& why = written.error().message;  // names a file that is another each time
        SetDegraded(StrCat("status.json: ", why.substr(why.rfind(": ") + 2), ", the end of the job waits"));
        end_timer_ = loop_.After(kBetweenTries, [this] { End(); });
      });
}

void ApplicationMaster::TellEnd() {
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
