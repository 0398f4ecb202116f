// The AM's end of the channel to the keeper. Does what runtime/local/local_scheduler.cc does.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <variant>
#include <vector>

#include "runtime/backend/scheduler.h"
#include "tests/sim/plan.h"
#include "tests/sim/stage.h"

namespace tony::sim {

class SimulatedAm;
class SimulatedKeeper;

// ---- messages between AM and keeper
struct Hello {
  Epoch epoch;
};
struct Renewal {
  // The time by the AM's clock. The keeper sends it back unchanged.
  Instant stamp;
};
using KeeperRequest = std::variant<Hello, Renewal, Ordered>;

struct Inventory {
  std::vector<ContainerId> running;
  std::vector<ContainerExited> exited;
};
// A repeated report, which a faulty scheduler sends.
struct Again {
  ContainerExited exited;
};
struct JobFinished {};
using KeeperReport =
    std::variant<Inventory, Renewal, ContainerStarted, ContainerExited, Again, ContainerPreempting, JobFinished>;

class SimulatedScheduler {
 public:
  SimulatedScheduler(Stage& stage, SimulatedKeeper& keeper, SimulatedAm& am, Epoch epoch, Flaw flaw);

  void Begin();
  void Request(const std::vector<ContainerRequest>& asks);
  void Withdraw(const std::vector<AttemptId>& attempts);
  void Launch(const AttemptId& attempt, const ContainerId& container);
  void Stop(const ContainerId& container, StopMode mode);
  void Finish();

  // ---- calls of the keeper; reports of an earlier channel are ignored
  void OnReport(int64_t channel, const KeeperReport& report);
  void OnClosed(int64_t channel);

  void OnAmGone();
  void TellLeaseChanged();

  // True if the lease holds by the AM's own clock.
  bool LeaseHolds() const;

 private:
  enum class Link { kDown, kGreeting, kUp, kNotNeeded };

  void On(const Inventory& inventory);
  void On(const Renewal& renewal);
  void On(const ContainerStarted& started);
  void On(const ContainerExited& exited);
  void On(const Again& again);
  void On(const ContainerPreempting& notice);
  void On(const JobFinished&);

  void Grant(const AttemptId& attempt, Duration delay);
  void Connect();
  void ConnectLater();
  void RestartKeeper();
  void Renew();
  void CheckLease();
  void GoUp();
  void Send(const Ordered& order);
  void Tell(SchedulerEvent event);
  void TellOfStranger(SchedulerEvent event);

  Stage& stage_;
  SimulatedKeeper& keeper_;
  SimulatedAm& am_;
  Random random_;
  const Epoch epoch_;
  const Flaw flaw_;
  const Duration am_lease_;
  Link link_ = Link::kDown;
  int64_t channel_ = 0;
  // The connection was lost, and no message of the keeper has arrived since.
  bool lost_ = false;
  bool complete_ = false;
  Inventory inventory_;
  Instant contact_{};
  Instant next_launch_{};
  Duration retry_{0};
  int64_t retries_ = 0, renewals_ = 0, checks_ = 0;
  int granted_ = 0, strangers_ = 0;
  std::set<AttemptId> withdrawn_;
  std::map<ContainerId, AttemptId> launches_;
  std::map<ContainerId, StopMode> stops_;
  std::set<ContainerId> ended_;
  bool finishes_ = false;
};

}  // namespace tony::sim
