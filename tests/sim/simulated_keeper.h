// The keeper (supervisor of one job on one machine): parent of the job's AM and executors, and arbiter of the AM's
// leadership. It may die and be started again. Does what runtime/keeper/{keeper,am_supervision}.cc do.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/simulated_am.h"
#include "tests/sim/simulated_containers.h"

namespace tony::sim {

// Requests of workflow engines and their watchers. Each request is repeated until an AM has answered or the job is
// over.
class SimulatedEngine {
 public:
  // `am` returns the live AM or nullptr. `over` returns true when no AM will answer any longer.
  SimulatedEngine(Stage& stage, std::function<SimulatedAm*()> am, std::function<bool()> over)
      : stage_(stage), am_(std::move(am)), over_(std::move(over)) {}
  void Apply(const Fault& fault);

 private:
  using Question = std::function<void(SimulatedAm& am, std::function<void()> answered)>;
  void Attach(const Claim& claim);
  void Look(const WatcherToken& watcher);
  void Ask(const Question& question);

  Stage& stage_;
  std::function<SimulatedAm*()> am_;
  std::function<bool()> over_;
};

class SimulatedKeeper {
 public:
  SimulatedKeeper(Stage& stage, Network& network, Flaw flaw);

  // Starts a keeper after `delay`, unless one is running by then.
  void ComeBack(Duration delay);
  bool alive() const { return alive_; }
  bool finished() const { return finished_; }
  const CrashPlan& crashes() const { return crashes_; }
  void Apply(const Fault& fault);

  // ---- calls of the AM
  int64_t Open(SimulatedScheduler& end);
  void Send(int64_t channel, const KeeperRequest& request);
  void AmEnded(Epoch epoch);
  void LeaseChanged() { containers_.LeaseChanged(); }

  // ---- calls of the containers
  void Report(const KeeperReport& report);
  // Runs `what` after `delay`, and not before the freeze ends, if this keeper still lives.
  void Later(Duration delay, std::function<void()> what);
  void Proceed();

 private:
  enum class Phase { kServing, kFinishing, kGivingUp, kDone };
  enum class AmState { kNone, kAwaited, kRunning, kBackoff, kRetiring, kGone };

  void Begin();
  void Die();
  void On(int64_t channel, const Hello& hello);
  void On(int64_t channel, const Renewal& renewal);
  void On(int64_t channel, const Ordered& order);
  void Close(int64_t channel);

  void Supervise();
  void StartAm();
  void OnAmEnded();
  void OnCrash();
  void CheckSilence(Instant expected);
  void Retire();
  void Finish();
  void GiveUp();
  void Replace(SimulatedAm& am, const DoubleAm& fault);
  // The newest AM, unless it is dead or was declared dead.
  SimulatedAm* Am();
  // An AM that some client knows; it may have been declared dead.
  SimulatedAm* AmOfClient();

  void ApplyToAm(const Fault& fault);
  void ApplyToFiles(const Fault& fault);
  void ApplyToKeeper(const Fault& fault);
  void ApplyToContainers(const Fault& fault);

  Stage& stage_;
  Network& network_;
  Random random_;
  CrashPlan crashes_;
  const Flaw flaw_;
  SimulatedContainers containers_;
  SimulatedEngine engine_;
  std::vector<std::unique_ptr<SimulatedAm>> ams_;  // the last element is the newest
  // The last AM that was declared dead.
  Epoch declared_dead_;
  // This many of the next AMs crash at once.
  int doomed_ams_ = 0;

  // ---- state of this incarnation of the keeper
  bool alive_ = false;
  int64_t life_ = 0;
  Instant thaws_at_{};
  Phase phase_ = Phase::kServing;
  AmState am_state_ = AmState::kNone;
  Instant renewed_{};
  int64_t checks_ = 0;
  std::deque<Instant> am_crashes_;
  std::map<int64_t, SimulatedScheduler*> channels_;
  // The channel of the last valid hello; 0: none.
  int64_t am_channel_ = 0;
  int64_t last_channel_ = 0;
  // Messages arrive in order in each direction.
  Instant reports_until_{}, requests_until_{};
  bool finished_ = false;
};

}  // namespace tony::sim
