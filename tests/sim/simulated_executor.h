// A user's process, with the children that it may leave behind and the checkpoints that it writes.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "executor/task_run.h"
#include "tests/sim/network.h"
#include "tests/sim/plan.h"
#include "tests/sim/stage.h"

namespace tony::sim {

class SimulatedProcess {
 public:
  // Calls `on_end` when the process has ended, some time before its parent may have reaped it.
  SimulatedProcess(Stage& stage, const ProcessStarted& start, const ProcessPlan& plan,
                   std::function<void(const PublishedValues&)> on_publish, std::function<void(ExitStatus)> on_end);

  // Sends the signal to the whole process tree.
  void Signal(int signal);
  bool AnythingLeft() const { return running_ || children_; }

 private:
  void EndAfter(Duration delay, ExitStatus exit);
  void WriteCheckpoint(Duration work);
  void PublishAfter(Duration delay);

  Stage& stage_;
  const ProcessStarted start_;
  const ProcessPlan plan_;
  const std::function<void(const PublishedValues&)> on_publish_;
  const std::function<void(ExitStatus)> on_end_;
  bool running_ = true;
  bool children_;
};

// An executor: the real TaskRun in a simulated shell, which does what executor/executor.cc does.
class SimulatedExecutor : public AskingEnd {
 public:
  SimulatedExecutor(Stage& stage, Network& network, const AttemptId& attempt, const ContainerId& container, int port,
                    Flaw flaw);

  void Begin(std::function<void(int)> left);  // `left` gets the exit code.
  void Terminate();                           // SIGTERM
  void Stall(Duration length);
  // Kills the executor with SIGKILL. Its processes live on until they are ended.
  void Die();
  void LeaseChanged();
  void CutStore(Duration length);
  bool alive() const { return alive_; }
  const TaskId& task() const { return attempt_.task; }
  // Sends the signal to all processes of the executor.
  void SignalAll(int signal);
  // True if any of these processes lives.
  bool AnythingLeft() const;

  void Answered(int64_t link, const Question& question, Instant asked, const Reply& reply) override;
  void Disconnected(int64_t link) override;

 private:
  void Feed(executor::Event event);
  void StartAll(ProcessStarted start, const ProcessPlan& plan);
  void Start(const ProcessStarted& start, const ProcessPlan& plan);
  void Reaped(int process, ExitStatus exit);
  void FeedAfter(Duration delay, executor::Event event);
  void ArmTimer();
  void Observe(const executor::Event& event, executor::State state, executor::Link link, size_t actions);
  executor::Event EventOf(int64_t link, const Question& question, Instant asked, const Reply& reply) const;

  void Perform(const executor::UseAm& action);
  void Perform(const executor::SendRegister& action);
  void Perform(const executor::SendAwait& action);
  void Perform(const executor::SendHeartbeat& action);
  void Perform(const executor::SendValues& action);
  void Perform(const executor::SendOutcome& action);
  void Perform(const executor::ReadLease& action);
  void ReadSharedLease();
  executor::Event LeaseNow() const;
  void Perform(const executor::WatchLease& action);
  void Perform(const executor::UnwatchLease& action);
  void Perform(const executor::BeginAttempt& action);
  void Perform(const executor::StartProcesses& action);
  // Simulated processes do not poll the notice file.
  void Perform(const executor::GiveNotice&) {}
  void Perform(const executor::SignalTree& action);
  void Perform(const executor::WarnOfTree&) {}
  void Perform(const executor::KeepOutcome& action);
  void Perform(const executor::Leave& action);

  Stage& stage_;
  Network& network_;
  Random random_;
  const OwnClock clock_;
  AttemptId attempt_;
  const ContainerId container_;
  const Flaw flaw_;
  executor::TaskRun run_;
  bool alive_ = true;
  std::function<void(int)> left_;
  std::deque<executor::Event> events_;
  int64_t link_ = 0;
  // epoch of the AM behind each link
  std::map<int64_t, Epoch> epochs_;
  int64_t connection_ = 0;
  bool watches_lease_ = false;
  bool reads_lease_ = false;  // from the shared store
  Instant store_back_at_;
  int64_t timer_ = 0;
  Instant stalled_until_;
  std::vector<std::unique_ptr<SimulatedProcess>> processes_;  // processes of all attempts
};

}  // namespace tony::sim
