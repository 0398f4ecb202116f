// The lease record, the status document, and the kill requests that other processes write. The job does not fail
// if one of these files cannot be written, because the write is repeated.
#include <algorithm>
#include <utility>

#include "am/application_master.h"
#include "runtime/base/log.h"
#include "runtime/base/strings.h"

namespace tony::am {
namespace {

// The shortest interval between two status messages to clients. Without the interval, a thousand tasks that start
// together would cause thousands of documents. A document of 1000 tasks takes a few milliseconds to make and to
// read, so the interval limits the work to a tenth of a core.
Duration PushInterval(int tasks) { return std::clamp(Duration(tasks / 10), Duration(20), Duration(200)); }
Duration StatusFileInterval(int tasks) { return std::max(Duration(500), Duration(tasks / 5)); }
// The interval at which a timer reads the kill requests. A timer is used because closing inotify would cost 15 ms at
// the end of every job.
constexpr Duration kKillRequestInterval{1000};
// The pause before a failed write is repeated. A full disk may recover, and no caller needs a shorter pause.
constexpr Duration kBetweenTries{1000};

}  // namespace

// Writes the lease and schedules its next renewal. Calls `then` only if the lease was written.
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

// An AM that cannot renew its lease remains leader, because executors that still reach the AM do not read the record.
void ApplicationMaster::Renew() {
  ++lease_.renewal;
  WriteLease([this] {
    if (IsLeader()) Observe(LeaseRenewed{});
  });
}

// The lease record is not renewed while this AM is not the leader or cannot write its journal. From a fresh record,
// executors that do not reach the AM would conclude that they are cut off, although the AM has the fault. Only the
// first lease record is written even if the journal cannot be written, because executors read the AM's address from
// this record.
void ApplicationMaster::RenewLease() {
  if (IsLeader() && (trouble_.empty() || !published_)) return Renew();
  lease_timer_ = loop_.After(job_.spec().timers.record_fresh / 3, [this] { RenewLease(); });
}

// Reads the kill requests in the job's folder regularly. The client that writes a request usually also calls the AM. A
// client that dies after the write does not call. The keeper (the supervisor of the job on this machine) also writes
// requests, and never calls the AM.
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

// The file of an accepted kill stays, because the kill holds until the end of the job.
void ApplicationMaster::TakeKills(const Result<std::vector<RecordedKill>>& kills) {
  if (!kills.ok()) return LogWarn(kills.error().message);
  for (const auto& [name, request] : *kills) {
    if (!seen_kills_.insert(name).second) continue;
    KillRequest mine = WithDueByReader(loop_.Now(), request);
    mine.record = name;
    const bool taken = job_.AnswerTo(mine, loop_.Now()) == KillAnswer::kTaken;
    LogInfo(StrCat("read a kill request by ", RequesterOf(request), ": ", request.reason));
    Observe(KillRequested{mine}, [this, taken, name = name](const std::optional<Refusal>&) {
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

// Writes one document at a time, even if the store takes longer than the interval.
void ApplicationMaster::WriteStatusLater() {
  if (status_timer_ || !status_changed_ || end_told_) return;
  status_timer_ = loop_.After(StatusFileInterval(job_.spec().TotalTasks()), [this] {
    if (job_.Ended()) return;  // End() writes the last status
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
        records.FreeReserve();
        return records.WriteStatus(last, Durability::kSurvivesPowerCut);
      },
      [this](const Status& written) {
        if (written.ok() || unwritten_) return TellEnd();
        // Only the text behind the last colon is used, because the message starts with a file name that differs each
        // time.
        const std::string& why = written.error().message;
        SetDegraded(StrCat("cannot write status.json: ", why.substr(why.rfind(": ") + 2),
                           "; the job ends when this file can be written"));
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
