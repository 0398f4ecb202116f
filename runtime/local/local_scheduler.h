// The AM's side of the local scheduler. This side communicates with the keeper (supervisor) of its job, and restarts a
// keeper that has died.
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

// The parameters that an AM passes to its scheduler.
struct MasterSide {
  EventLoop& loop;  // outlives the scheduler
  JobRecords records;
  Epoch epoch;
  Duration am_lease{0};
  Scheduler::Sink sink;
  // Returns the attempt that was started in a container and whose end is unknown yet.
  std::function<std::optional<AttemptId>(const ContainerId&)> unended_in;
  // The socket of the job's page, which the next AM will inherit; invalid if the job has no page.
  UniqueFd page_socket = {};
};

std::unique_ptr<Scheduler> MakeLocalScheduler(MasterSide side);

// Returns the command that starts the executor of an attempt: `executor_program` with the job's folder and the loopback
// address.
LaunchSpec LaunchOf(const JobRecords& records, const std::string& executor_program, const ContainerId& container,
                    const ExecutorLaunch& launch);
// Returns the outcome that the executor of an attempt has stored; nullopt if no outcome is stored, or if it cannot be
// read. A failed read is logged.
std::optional<KeptOutcome> OutcomeKeptOf(const JobRecords& records, const AttemptId& attempt);

// Grants every requested container on this machine, once the ledger of the machine has admitted the job. If a launch or
// stop does not reach the keeper, or is lost because the keeper dies, it is repeated as soon as a keeper is reached.
// The references passed to the constructor must outlive this object.
class LocalScheduler : public Scheduler {
 public:
  using MakeLaunch = std::function<LaunchSpec(const ContainerId&, const ExecutorLaunch&)>;
  // Returns the outcome that is stored for the attempt in a container. Called when the container has ended.
  using OutcomeKeptIn = std::function<std::optional<KeptOutcome>(const ContainerId&)>;
  LocalScheduler(EventLoop& loop, JobRecords records, Epoch epoch, Duration am_lease, AmLauncher& launcher,
                 MakeLaunch make_launch, OutcomeKeptIn outcome_kept_in, Sink sink);
  ~LocalScheduler() override;

  // Takes the socket of the job's page. Each keeper that this object connects to gets the socket and holds it for the
  // next AM.
  void HandToKeeper(UniqueFd page_socket) { page_socket_ = std::move(page_socket); }

  bool Holds() const override { return link_ == Link::kNotNeeded || LeaseHolds(); }
  bool ConfirmsEnds() const override { return true; }
  void Request(const std::vector<ContainerRequest>& asks) override;
  void Withdraw(const std::vector<AttemptId>& attempts) override;
  void Launch(const ContainerId& container, const ExecutorLaunch& what) override;
  void Stop(const ContainerId& container, StopMode mode) override;
  // Does nothing, because clients query the progress of a local job from the job itself.
  void TellProgress(double) override {}
  void Finish(const Verdict& verdict, std::function<void()> done) override;

 private:
  enum class Standing { kNew, kReached, kLost };  // state last reported to the sink
  // The connection to the keeper. kNotNeeded: the job has ended.
  enum class Link { kDown, kGreeting, kUp, kNotNeeded };
  // The job's state in the ledger, as the keeper reported it last.
  enum class Turn { kUnknown, kWaiting, kAdmitted };

  void Connect();
  void ConnectLater();
  void OnClosed();
  void RestartKeeper();
  void Renew();
  void CheckLease();
  void CheckKeeper();
  void OnMessage(std::string_view message);
  void On(const KeeperInventory& part);
  void On(const KeeperRenewed& renewed);
  void On(const ContainerStarted& started);
  void On(const ContainerExited& exited);
  void On(const JobFinished&);
  void On(const JobAdmitted&);
  void On(const JobQueued& queued);
  void ApplyQueueState();
  void NotifyPendingReason(const std::string& reason);
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
  // The time at which the newest answered request to the keeper was sent.
  Instant contact_;
  int64_t granted_ = 0;

  Turn turn_ = Turn::kUnknown;
  std::string why_waiting_;
  std::string delay_told_;
  std::vector<ContainerRequest> requested_;  // requests not granted yet

  UniqueFd page_socket_;
  Link link_ = Link::kDown;
  std::unique_ptr<MessageChannel> channel_;
  // The parts of the inventory received so far, while `link_` is kGreeting.
  KeeperInventory inventory_;
  Duration retry_{0};
  Instant next_launch_;  // earliest next start of a keeper

  std::map<ContainerId, LaunchSpec> launches_;  // start not confirmed yet
  std::map<ContainerId, StopMode> stops_;       // end not confirmed yet
  std::set<ContainerId> ended_;                 // end reported to the sink
  // The message that Finish() sends to the keeper, and to each later keeper until the end is recorded.
  FinishJob finish_;
  std::function<void()> finished_;  // set until the end is recorded
  EventLoop::Timer retry_timer_, renew_timer_, lease_timer_, pulse_timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace tony
