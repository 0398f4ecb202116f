// The files that the application master keeps beside its journal: the lease record and the status document; and the
// kill requests, which others write. None of them is worth a job: what cannot be written now is tried
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
    if (IsLeader()) Observe(LeaseRenewed{});
  });
}

// The record of an AM that does not rule, or can keep no promise, gets stale: nobody is to think itself cut off. But
// where it is must be known.
void ApplicationMaster::RenewLease() {
  if (IsLeader() && (trouble_.empty() || !published_)) return Renew();
  lease_timer_ = loop_.After(job_.spec().timers.record_fresh / 3, [this] { RenewLease(); });
}

// A client that asks for a kill calls, too. The file alone is left where the client died in between, and by the keeper.
void ApplicationMaster::LookForKills() {
  ReadKills();
  kill_timer_ = loop_.After(kKillRequestInterval, [this] { LookForKills(); });
}

void ApplicationMaster::ReadKills() {
  if (!IsLeader() || std::exchange(looks_for_kills_, true)) return;
  calls_.Ask([](const JobRecords& records) { return records.ReadKills(); },
             [this](const Result<std::vector<RecordedKill>>& kills) {
               looks_for_kills_ = false;
               if (IsLeader()) TakeKills(kills);
             });
}

// The file of a kill that is taken stays, because it holds until the end of the job.
void ApplicationMaster::TakeKills(const Result<std::vector<RecordedKill>>& kills) {
  if (!kills.ok()) return LogWarn(kills.error().message);
  for (const auto& [name, request] : *kills) {
    if (!seen_kills_.insert(name).second) continue;
    const KillRequest mine = ByClockOf(loop_.Now(), request);
    const bool taken = job_.AnswerTo(mine, loop_.Now()) == KillAnswer::kTaken;
    LogInfo(StrCat("found a kill request by ", AskerOf(request), ": ", request.reason));
    Observe(KillAsked{mine}, [this, taken, name = name](const std::optional<Refusal>&) {
      if (taken) return;
      calls_.Ask([name](const JobRecords& records) { return records.RemoveKill(name); },
                 [this, name](const Status& removed) {
                   if (removed.ok()) seen_kills_.erase(name);
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
