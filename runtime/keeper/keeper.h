// The keeper: the supervisor of one local job. It is the parent of the job's AM and executors, and exits last.
//
//   kServing --Finish from the AM--> kRecording --> kFinishing --AM, containers exited---> kSweeping --nothing left-->
//     |  \                             ^                                                   kWritingHistory --> kDone
//     |   \--AM dies too often, or does not react to a kill-----> kEndingTasks -+  containers exited, verdict written
//     |                                                                   ^ kill  |
//     \--no AM can read the job--> kRunningOut -----------------------------------+  the last task has ended by itself
//
// The keeper does not wait for a process that SIGKILL does not end (containers.h): the job ends, its locks are
// released, and clients continue. The keeper then stays in kHolding, between kWritingHistory and kDone. It keeps the
// reservation of the job in the ledger, because the memory and the GPUs of such a process are not free. On SIGTERM the
// keeper releases the reservation nevertheless.
//
// In kRunningOut the keeper executes kills without a condition. It refuses all other kills, because only an AM knows
// the owner and the watchers of the job.
//
// If the job's folder was removed, nothing can be recorded. From any phase before kSweeping the keeper goes to
// kFinishing, gives the tasks their grace, and exits with 66.
//
// If the disk fails, is read-only or is full, the end cannot be recorded. The keeper retries for AmOptions::unwritable.
// Then it stores the verdict in the ledger's folder (lost_job.h), ends the job's processes, and exits with 73. During
// the retries the keeper releases the reservation as soon as no process of the job is left.
//
// kRecording (a line in the log of ended jobs) and kWritingHistory have time limits, because they write where a file
// system may not respond (lost_job.h). Only the keeper's own exit waits for kWritingHistory.
//
// SIGTERM, SIGINT and SIGHUP end the job like a kill: its tasks have their grace, the verdict is KILLED and names the
// signal and its sender, and the keeper exits with 0. The keeper records a kill for the AM. If the job has not ended
// within the grace and the margin, the keeper ends it without the AM. Further signals change nothing, because a
// repeated signal means the same.
//
// The keeper decides nothing about the job: it starts, watches and ends processes. All that it knows is in the job's
// folder or visible in /proc, so that another keeper can replace it at any moment.
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
#include "runtime/ledger/ledger_reservation.h"
#include "runtime/ledger/ledger_folder.h"
#include "runtime/os/boost_process_runner.h"
#include "runtime/records/attempt_folder.h"
#include "runtime/records/job_records.h"

namespace tony::keeper {

// A Keeper is used on the loop thread only. Its caller holds keeper.lock, is a subreaper, and stops the loop in
// `on_done`.
class Keeper {
 public:
  Keeper(EventLoop& loop, JobRecords records, std::vector<std::string> environment, AmOptions am,
         EventLoop::Callback on_done);

  Status Begin();
  // Returns the result of the supervision, valid once `on_done` was called. kNotFound: the job's folder was removed.
  // kCannotWrite: the folder could not record the end.
  const Status& end() const { return end_; }

 private:
  using Peer = int64_t;  // number of a connection
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

  // Functions for the ledger, defined in keeper.cc.
  void EnterLedger();
  Status TryToEnterLedger();
  void OnQueued(const std::string& why);
  void EndIfNested();
  void OnAdmitted();
  void ReportQueueState(KeeperReport turn);
  void LeaveLedger();
  // WatchRunTime() ends the job when its user's run limit is reached (run_minutes in machine.json).
  void WatchRunTime();
  void EndAtRunLimit(int64_t minutes);
  void EndBecause(const std::string& reason);

  // Functions for kills and limits that do not wait for an AM, defined in keeper_end.cc.
  void LookForKills();
  void CheckUnansweredKill(bool overslept);
  std::optional<KillRequest> KillToExecute(const std::vector<RecordedKill>& kills) const;
  void Refuse(const std::vector<RecordedKill>& kills) const;
  void EndForKill(const KillRequest& kill);
  void HearAm();
  void LimitStart(Duration limit);

  // Functions for the end of the job, defined in keeper_end.cc.
  void GiveUp(const std::string& reason);
  void RunOut(const std::string& reason);
  void WriteDegradedStatus();
  void LookForFolder();
  void LeaveGoneFolder();
  void LookAtTasks();
  void EndTasks(Duration grace);  // SIGTERM, then SIGKILL after the grace
  void Stop(const std::string& reason);
  void EndWithoutAm(Verdict verdict, Duration grace);
  void Finish();
  void WriteFinished();
  void LeaveUnwritten(const Error& error);
  void TakeLeave();
  void Proceed();
  void WriteVerdict();
  void SweepJob();
  void RemovePodmanContainers();
  void WriteHistory();
  void LeaveFolder();
  void HoldReservation();
  void EnterDone();
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
  // The verdict of the job, if the keeper and not the AM writes the end of the job.
  Verdict verdict_;
  std::string stop_reason_;  // empty: no signal to stop
  // The number of running containers when the degraded status was last written.
  size_t running_told_ = 0;
  FolderPresence presence_;
  // The status at the start of the keeper, without tasks.
  JobStatus first_status_;
  // The time until which a failed record of the job's end is retried; nullopt: no record has failed.
  std::optional<Instant> unwritten_end_;
  Duration grace_{0};                     // from the job spec
  Duration am_lease_{Timers().am_lease};  // from the job spec
  Instant am_heard_{};                    // last message of a leading AM
  // The time when the keeper first found a kill without an answer from the AM; nullopt: no such kill.
  std::optional<Instant> unheard_kill_;
  Status end_;
  // Set once the job was entered into the ledger.
  std::optional<LedgerFolder> ledger_;
  std::unique_ptr<LedgerReservation> claim_;
  // The last report about the ledger: JobAdmitted or JobQueued.
  std::optional<KeeperReport> turn_;
  // The job whose task submitted this job; nullopt: no task submitted it.
  std::optional<JobId> above_;
  EventLoop::Timer claim_timer_, run_timer_, nested_timer_;
  Instant sweep_end_;
  std::string left_;  // names of the remaining processes

  UniqueFd listener_;
  std::map<Peer, std::unique_ptr<MessageChannel>> peers_;
  Peer newest_peer_ = 0;
  Peer am_peer_ = 0;  // the leading AM; 0: none connected
  EventLoop::FdWatch accepting_, signals_;
  // `timer_` belongs to the current phase; `stop_timer_` limits the end of the job after a stop signal.
  EventLoop::Timer timer_, stop_timer_, presence_timer_;
  EventLoop::Timer unheard_timer_, start_timer_;
};

}  // namespace tony::keeper
