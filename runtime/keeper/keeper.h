// The arbiter of one local job: parent of its AM and executors, and the last to leave.
//
//   kServing --Finish from the AM--> kRecording --> kFinishing --AM and containers gone--> kSweeping --nothing left-->
//     |  \                             ^                                                   kWritingHistory --> kDone
//     |   \--AM dies over and over, or hears nothing of a kill--> kEndingTasks -+  containers gone, verdict written
//     |                                                                   ^ kill  |
//     \--no AM can read the job--> kRunningOut -----------------------------------+  the last task has ended by itself
//
// The keeper does not wait for a process that SIGKILL does not end (containers.h): the job ends, its locks are let go,
// and clients go on. The keeper then stays in kHolding, between kWritingHistory and kDone, and keeps the job's place in
// the ledger, because memory and GPUs of such a process are not free. SIGTERM gives the place back all the same.
//
// While kRunningOut it obeys kills without a condition, and refuses the others, because only an AM knows who owns and
// watches the job.
//
// Where the job's folder was removed nothing can be recorded: from any phase before kSweeping it goes to kFinishing,
// with the tasks' grace, and the keeper exits with 66.
//
// Where the end cannot be recorded, because the disk fails, is read-only or full, it is tried for
// AmOptions::unwritable. Then the keeper leaves the verdict beside the ledger (lost_job.h), ends what it would
// have ended, and exits with 73. The job's place in the ledger is free before that, as soon as no process of the job is
// left.
//
// Of kRecording (a line in the log of ended jobs) and kWritingHistory neither lasts longer than its limit: they write
// where a file system may not answer (lost_job.h), and nothing but the keeper's own exit waits for the second.
//
// SIGTERM, SIGINT and SIGHUP end the job as a kill does: its tasks have their grace, the verdict is KILLED and names
// the signal and who sent it, and the keeper exits with 0. That is asked of the AM; where it does not come about within
// the grace and the margin, the keeper does it without one. Further signals change nothing: whoever repeats himself
// does not mean something else.
//
// It decides nothing about the job: it starts, watches and ends processes. All it knows is in the job's folder or to
// be seen in /proc, so that another keeper can take over at any moment.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "runtime/base/event_loop.h"
#include "runtime/job/job_status.h"
#include "runtime/keeper/am_supervision.h"
#include "runtime/keeper/containers.h"
#include "runtime/keeper/keeper_protocol.h"
#include "runtime/keeper/message_channel.h"
#include "runtime/ledger/ledger_claim.h"
#include "runtime/ledger/ledger_folder.h"
#include "runtime/os/boost_process_runner.h"
#include "runtime/records/attempt_folder.h"
#include "runtime/records/job_records.h"

namespace tony::keeper {

// Loop thread only. The caller holds keeper.lock and is a subreaper; it stops the loop when `on_done` is called.
class Keeper {
 public:
  Keeper(EventLoop& loop, JobRecords records, std::vector<std::string> environment, AmOptions am,
         EventLoop::Callback on_done);

  Status Begin();
  // Once on_done was called. kNotFound: the job's folder was removed; kCannotWrite: it took no record of the end.
  const Status& end() const { return end_; }

 private:
  using Peer = int64_t;  // a connection
  static constexpr Duration kBetweenTries{1000};
  enum class Phase {
    kServing,
    kRunningOut,
    kEndingTasks,
    kRecording,
    kFinishing,
    kSweeping,
    kWritingHistory,
    kHolding,
    kDone
  };

  void AcceptConnections();
  void Admit(UniqueFd socket);
  void OnMessage(Peer from, std::string_view message);
  void OnRequest(Peer from, const AmHello& hello);
  void OnRequest(Peer from, const AmRenew& renew);
  void OnRequest(Peer from, const LaunchContainer& launch);
  void OnRequest(Peer from, const StopContainer& stop);
  void OnRequest(Peer from, const FinishJob& finish);
  void Drop(Peer peer);
  void Report(const KeeperReport& report);
  void OnSignal(const EventLoop::SentSignal& signal);

  // keeper.cc
  void EnterLedger();
  Status TryToEnterLedger();
  void OnQueued(const std::string& why);
  void EndIfNested();
  void OnAdmitted();
  void SayTurn(KeeperReport turn);
  void LeaveLedger();
  void WatchRunTime();  // ends the job when it has run for as long as its user may
  void EndAtRunLimit(int64_t minutes);
  void EndBecause(const std::string& reason);

  // keeper_end.cc
  void LookForKills();
  void JudgeUnheardKill(bool overslept);
  std::optional<KillRequest> KillToObey(const std::vector<RecordedKill>& kills) const;
  void Refuse(const std::vector<RecordedKill>& kills) const;
  void EndForKill(const KillRequest& kill);
  void HearAm();
  void LimitStart(Duration limit);

  // keeper_end.cc
  void GiveUp(const std::string& reason);
  void RunOut(const std::string& reason);
  void SayTrouble();
  void LookForFolder();
  void LeaveGoneFolder();
  void LookAtTasks();
  void EndTasks(Duration grace);  // asks, and kills after the grace
  void Stop(const std::string& reason);
  void EndWithoutAm(Verdict verdict, Duration grace);
  void Finish();
  void WriteFinished();
  void LeaveUnwritten(const Error& error);
  void TakeLeave();
  void Proceed();
  void WriteVerdict();
  void SweepJob();
  void WriteHistory();
  void LeaveFolder();
  void HoldPlace();
  void BeDone();
  bool StartWriter(void (*work)(const JobRecords&), EventLoop::Callback on_end);
  void TryAgain(void (Keeper::*step)(), const Error& error);

  EventLoop& loop_;
  const JobRecords records_;
  const EventLoop::Callback on_done_;
  const Duration stop_margin_, unwritable_;
  BoostProcessRunner runner_;
  Containers containers_;
  AmSupervision am_;
  Phase phase_ = Phase::kServing;
  Verdict verdict_;          // of a job that ends without an AM
  std::string stop_reason_;  // why somebody told this keeper to stop; empty: nobody did
  size_t running_told_ = 0;  // containers, when the trouble was last told
  FolderPresence presence_;
  // The status as it was read at the beginning, without tasks.
  JobStatus first_status_;
  // The moment until which a failing record of the end is tried again.
  std::optional<Instant> unwritten_end_;
  Duration grace_{0};                     // of the tasks, as it was read at the beginning
  Duration am_lease_{Timers().am_lease};  // the same
  Instant am_heard_{};                    // when a master that rules said something last
  std::optional<Instant> unheard_kill_;   // when a kill was first seen
  Status end_;
  // The claim is there, or was.
  std::optional<LedgerFolder> ledger_;
  std::unique_ptr<LedgerClaim> claim_;
  std::optional<KeeperReport> turn_;  // as it was last said: JobAdmitted or JobQueued
  std::optional<JobId> above_;        // its task submitted this job
  EventLoop::Timer claim_timer_, run_timer_, nested_timer_;
  Instant sweep_end_;
  std::string left_;  // what the job has left on the machine, for people

  UniqueFd listener_;
  std::map<Peer, std::unique_ptr<MessageChannel>> peers_;
  Peer newest_peer_ = 0;
  Peer am_peer_ = 0;  // who said the right hello last; 0: nobody
  EventLoop::FdWatch accepting_, signals_;
  EventLoop::Timer timer_, stop_timer_, presence_timer_;  // of the phase; of SIGTERM
  EventLoop::Timer unheard_timer_, start_timer_;
};

}  // namespace tony::keeper
