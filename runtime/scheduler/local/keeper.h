// The arbiter of one local job: parent of its AM and executors, and the last to leave.
//
//   kServing --Finish from the AM, recorded--> kFinishing --AM and containers gone--> kSweeping --nothing left--> kDone
//     |  \                                          ^
//     |   \--AM dies over and over--> kEndingTasks -+  containers gone, verdict written
//     |                                     ^ kill  |
//     \--no AM can read the job--> kRunningOut -----+  the last task has ended by itself
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
#include "runtime/process/boost_process_runner.h"
#include "runtime/scheduler/local/am_supervision.h"
#include "runtime/scheduler/local/containers.h"
#include "runtime/scheduler/local/keeper_protocol.h"
#include "runtime/scheduler/local/ledger_claim.h"
#include "runtime/scheduler/local/message_channel.h"
#include "runtime/store/job_folder.h"

namespace tony::keeper {

// Loop thread only. The caller holds keeper.lock and is a subreaper; it stops the loop when `on_done` is called.
class Keeper {
 public:
  Keeper(EventLoop& loop, JobFolder folder, std::vector<std::string> environment, AmOptions am,
         EventLoop::Callback on_done);

  Status Begin();

 private:
  using Peer = int64_t;  // a connection
  enum class Phase { kServing, kRunningOut, kEndingTasks, kFinishing, kSweeping, kDone };

  void AcceptConnections();
  void Admit(UniqueFd socket);
  void OnMessage(Peer from, std::string_view message);
  void OnRequest(Peer from, const AmHello& hello);
  void OnRequest(Peer from, const AmRenew& renew);
  void OnRequest(Peer from, const LaunchContainer& launch);
  void OnRequest(Peer from, const StopContainer& stop);
  void OnRequest(Peer from, const FinishJob&);
  void Drop(Peer peer);
  void Report(const KeeperReport& report);
  void OnSignal(int signal);

  // keeper_claim.cc
  void EnterLedger();
  Status TryToEnterLedger();
  void OnAdmitted();
  void SayTurn(KeeperReport turn);
  void LeaveLedger();
  void WatchRunTime();  // ends the job when it has run for as long as its user may
  void EndAtRunLimit(int64_t minutes);

  // keeper_end.cc
  void GiveUp(const std::string& reason);
  void RunOut(const std::string& reason);
  void SayTrouble();
  void LookAtTasks();
  void EndTasks(Duration grace);  // asks, and kills after the grace
  void Finish();
  void Proceed();
  void WriteVerdict();
  void SweepJob();
  void TryAgain(void (Keeper::*step)(), const Error& error);

  EventLoop& loop_;
  const JobFolder folder_;
  const EventLoop::Callback on_done_;
  BoostProcessRunner runner_;
  Containers containers_;
  AmSupervision am_;
  Phase phase_ = Phase::kServing;
  Verdict verdict_;          // of a job that ends without an AM
  size_t running_told_ = 0;  // containers, when the trouble was last told
  std::unique_ptr<LedgerClaim> claim_;
  std::optional<KeeperReport> turn_;  // as it was last said: JobAdmitted or JobQueued
  EventLoop::Timer claim_timer_, run_timer_;
  Instant sweep_end_;

  UniqueFd listener_;
  std::map<Peer, std::unique_ptr<MessageChannel>> peers_;
  Peer newest_peer_ = 0;
  Peer am_peer_ = 0;  // who said the right hello last; 0: nobody
  EventLoop::FdWatch accepting_, signals_;
  EventLoop::Timer timer_;  // of the phase
};

}  // namespace tony::keeper
