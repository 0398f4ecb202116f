// The AM's side of the local scheduler: speaks to the keeper of its job, and brings it back when it died.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "runtime/backend/am_launcher.h"
#include "runtime/backend/scheduler.h"
#include "runtime/base/event_loop.h"
#include "runtime/keeper/keeper_protocol.h"
#include "runtime/keeper/message_channel.h"
#include "runtime/records/job_records.h"

namespace tony {

// The parts that an application master gives to its scheduler.
struct MasterSide {
  EventLoop& loop;  // outlives the scheduler
  JobRecords records;
  Epoch epoch;
  Duration am_lease{0};
  Scheduler::Sink sink;
  // The attempt that was started in a container, until its end is known.
  std::function<std::optional<AttemptId>(const ContainerId&)> unended_in;
  UniqueFd page_socket = {};  // of the job's page, for the next master; none: it has no page
};

std::unique_ptr<Scheduler> MakeLocalScheduler(MasterSide side);

// How the executor of an attempt is started: the program, on a job's folder and this machine's own address.
LaunchSpec LaunchOf(const JobRecords& records, const std::string& executor_program, const ContainerId& container,
                    const ExecutorLaunch& launch);
// What an executor kept of its attempt's end. Nothing: it kept none, or none that can be read, which the log says.
std::optional<KeptOutcome> OutcomeKeptOf(const JobRecords& records, const AttemptId& attempt);

// Grants every container that is asked for, on this machine, once the machine's ledger has admitted the job. What is
// launched or stopped while the keeper cannot be reached, or got lost with it, is said again when it is reached. The
// references outlive it.
class LocalScheduler : public Scheduler {
 public:
  using MakeLaunch = std::function<LaunchSpec(const ContainerId&, const ExecutorLaunch&)>;
  using OutcomeKeptIn = std::function<std::optional<KeptOutcome>(const ContainerId&)>;  // of one that has ended
  LocalScheduler(EventLoop& loop, JobRecords records, Epoch epoch, Duration am_lease, AmLauncher& launcher,
                 MakeLaunch make_launch, OutcomeKeptIn outcome_kept_in, Sink sink);
  ~LocalScheduler() override;

  // The socket of the job's page: each keeper that this speaks to gets it, and holds it for the next AM.
  void HandToKeeper(UniqueFd page_socket) { page_socket_ = std::move(page_socket); }

  bool Holds() const override { return link_ == Link::kNotNeeded || LeaseHolds(); }
  bool ConfirmsEnds() const override { return true; }
  void Request(const std::vector<ContainerAsk>& asks) override;
  void Withdraw(const std::vector<AttemptId>& attempts) override;
  void Launch(const ContainerId& container, const ExecutorLaunch& what) override;
  void Stop(const ContainerId& container, StopMode mode) override;
  void TellProgress(double) override {}  // who looks at this machine's jobs asks the job itself
  void Finish(const Verdict& verdict, std::function<void()> done) override;

 private:
  enum class Standing { kNew, kReached, kLost };          // as the sink was told
  enum class Link { kDown, kGreeting, kUp, kNotNeeded };  // the connection; not needed: the job has ended
  enum class Turn { kUnknown, kWaiting, kAdmitted };      // the job's in the ledger, as the keeper said last

  void Connect();
  void ConnectLater();
  void OnClosed();
  void BringKeeperBack();
  void Renew();
  void CheckLease();
  void LookAfterKeeper();
  void OnMessage(std::string_view message);
  void On(const KeeperInventory& part);
  void On(const KeeperRenewed& renewed);
  void On(const ContainerStarted& started);
  void On(const ContainerExited& exited);
  void On(const JobFinished&);
  void On(const JobAdmitted&);
  void On(const JobQueued& queued);
  void ActOnTurn();
  void TellDelay(const std::string& reason);
  void GoUp();
  void Send(const KeeperRequest& request);
  void Tell(SchedulerEvent event);
  bool LeaseHolds() const { return loop_.Now() < contact_ + am_lease_; }

  EventLoop& loop_;
  const JobRecords records_;
  const Epoch epoch_;
  const Duration am_lease_;
  AmLauncher& launcher_;
  const MakeLaunch make_launch_;
  const OutcomeKeptIn outcome_kept_in_;
  const Sink sink_;

  Standing standing_ = Standing::kNew;
  Instant contact_;  // the newest time of asking that the keeper answered
  int64_t granted_ = 0;

  Turn turn_ = Turn::kUnknown;
  std::string why_waiting_;
  std::string delay_told_;
  std::vector<ContainerAsk> requested_;  // not yet granted

  UniqueFd page_socket_;
  Link link_ = Link::kDown;
  std::unique_ptr<MessageChannel> channel_;
  KeeperInventory inventory_;  // while greeting: what came so far
  Duration retry_{0};
  Instant next_launch_;  // of a keeper; not before

  std::map<ContainerId, LaunchSpec> launches_;  // not yet known to have started
  std::map<ContainerId, StopMode> stops_;       // not yet known to have ended
  std::set<ContainerId> ended_;                 // told to the sink
  // Finish() has sent this.
  FinishJob finish_;
  std::function<void()> finished_;  // until the keeper has recorded the end
  EventLoop::Timer retry_timer_, renew_timer_, lease_timer_, pulse_timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace tony
