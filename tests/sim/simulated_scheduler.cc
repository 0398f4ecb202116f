#include "tests/sim/simulated_scheduler.h"

#include <algorithm>
#include <utility>

#include "runtime/base/strings.h"
#include "tests/sim/simulated_am.h"
#include "tests/sim/simulated_keeper.h"

namespace tony::sim {
namespace {

// The values of local_scheduler.cc.
constexpr Duration kFirstRetry{10};
constexpr Duration kLongestRetry{500};
constexpr Duration kBetweenLaunches{1'000};
constexpr int kRenewalsPerLease = 3;

}  // namespace

SimulatedScheduler::SimulatedScheduler(Stage& stage, SimulatedKeeper& keeper, SimulatedAm& am, Epoch epoch, Flaw flaw)
    : stage_(stage),
      keeper_(keeper),
      am_(am),
      random_(stage.random.Fork()),
      epoch_(epoch),
      flaw_(flaw),
      am_lease_(stage.plan.spec.timers.am_lease) {}

void SimulatedScheduler::Begin() {
  contact_ = am_.Now();
  am_.Later(Duration(0), [this] { Connect(); });
  CheckLease();
}

void SimulatedScheduler::OnAmGone() {
  link_ = Link::kNotNeeded;
  keeper_.AmEnded(epoch_);
}

void SimulatedScheduler::TellLeaseChanged() { keeper_.LeaseChanged(); }

// The AM's own scheduler code makes the grants, so they are lost if the AM dies.
void SimulatedScheduler::Request(const std::vector<ContainerRequest>& asks) {
  // On a cluster, containers that are requested together are granted together.
  Duration longest{0};
  const bool whole = stage_.plan.spec.ContainerHoldLimit() > Duration(0);
  for (const ContainerRequest& ask : asks) longest = std::max(longest, stage_.plan.tasks.at(ask.attempt.task).grant);
  for (const ContainerRequest& ask : asks) {
    const TaskPlan& task = stage_.plan.tasks.at(ask.attempt.task);
    const Duration delay = whole ? longest : task.grant;
    Grant(ask.attempt, delay);
    if (task.granted_twice) Grant(ask.attempt, delay + Duration(random_.Between(0, 10)));
  }
}

// As on a cluster, some withdrawn requests are granted anyway.
void SimulatedScheduler::Withdraw(const std::vector<AttemptId>& attempts) {
  for (const AttemptId& attempt : attempts)
    if (!stage_.plan.tasks.at(attempt.task).granted_twice) withdrawn_.insert(attempt);
}

void SimulatedScheduler::Grant(const AttemptId& attempt, Duration delay) {
  const ContainerId id{StrCat(epoch_.value, "-", ++granted_)};
  am_.Later(delay, [this, attempt, id] {
    if (withdrawn_.contains(attempt)) return;
    stage_.Add(ContainerOffered{epoch_, id});
    am_.OnScheduler(ContainerGranted{attempt, id, "node"});
  });
}

void SimulatedScheduler::Launch(const AttemptId& attempt, const ContainerId& container) {
  launches_[container] = attempt;
  Send({epoch_, Ordered::What::kLaunch, container, attempt});
}

void SimulatedScheduler::Stop(const ContainerId& container, StopMode mode) {
  if (ended_.contains(container)) return;
  auto& wanted = stops_.emplace(container, mode).first->second;
  if (mode == StopMode::kKill) wanted = mode;
  Send({epoch_, wanted == StopMode::kKill ? Ordered::What::kKill : Ordered::What::kTerm, container, {}});
  if (flaw_ == Flaw::kConfirmsUnseen && ended_.insert(container).second) Tell(ContainerExited{.container = container});
}

void SimulatedScheduler::Finish() {
  finishes_ = true;
  Send({epoch_, Ordered::What::kFinish, {}, {}});
}

void SimulatedScheduler::Connect() {
  if (link_ == Link::kNotNeeded) return;
  if (!keeper_.alive()) {
    RestartKeeper();
    return ConnectLater();
  }
  link_ = Link::kGreeting;
  inventory_ = {};
  complete_ = false;
  channel_ = keeper_.Open(*this);
  keeper_.Send(channel_, Hello{epoch_});
  Renew();
}

void SimulatedScheduler::ConnectLater() {
  link_ = Link::kDown;
  channel_ = 0;
  retry_ = std::clamp(retry_ * 2, kFirstRetry, kLongestRetry);
  am_.Later(retry_, [this, retry = ++retries_] {
    if (retry == retries_) Connect();
  });
}

void SimulatedScheduler::OnClosed(int64_t channel) {
  am_.Later(Duration(0), [this, channel] {
    if (channel != channel_ || link_ == Link::kNotNeeded) return;
    if (link_ == Link::kGreeting) return ConnectLater();
    link_ = Link::kDown;
    Connect();
  });
}

void SimulatedScheduler::RestartKeeper() {
  if (am_.Now() < next_launch_) return;
  next_launch_ = am_.Now() + kBetweenLaunches;
  keeper_.ComeBack(random_.Between(Duration(10), Duration(200)));
}

void SimulatedScheduler::Renew() {
  if (channel_ != 0) keeper_.Send(channel_, Renewal{am_.Now()});
  am_.Later(am_lease_ / kRenewalsPerLease, [this, renewal = ++renewals_] {
    if (renewal == renewals_) Renew();
  });
}

bool SimulatedScheduler::LeaseHolds() const { return am_.Now() < contact_ + am_lease_; }

void SimulatedScheduler::CheckLease() {
  if (link_ == Link::kNotNeeded) return;
  if (!lost_ && !LeaseHolds()) {
    lost_ = true;
    Tell(SchedulerLost{"no answer from the keeper"});
    ConnectLater();
  }
  am_.Later(LeaseHolds() ? contact_ + am_lease_ - am_.Now() : am_lease_, [this, check = ++checks_] {
    if (check == checks_) CheckLease();
  });
}

void SimulatedScheduler::OnReport(int64_t channel, const KeeperReport& report) {
  am_.Later(Duration(0), [this, channel, report] {
    if (channel == channel_) std::visit([this](const auto& r) { On(r); }, report);
  });
}

void SimulatedScheduler::On(const Inventory& inventory) {
  inventory_ = inventory;
  complete_ = true;
}

void SimulatedScheduler::On(const Renewal& renewal) {
  contact_ = std::max(contact_, renewal.stamp);
  stage_.Add(ArbiterHeard{epoch_, am_.Now() - contact_});
  if (link_ == Link::kGreeting && complete_ && LeaseHolds()) GoUp();
}

void SimulatedScheduler::On(const ContainerStarted& started) {
  if (link_ == Link::kGreeting) return inventory_.running.push_back(started.container);
  if (launches_.erase(started.container) > 0) Tell(started);
}

void SimulatedScheduler::On(const ContainerExited& exited) {
  if (!exited.certain) return Tell(exited);
  if (link_ == Link::kGreeting) {
    std::erase(inventory_.running, exited.container);
    return inventory_.exited.push_back(exited);
  }
  launches_.erase(exited.container);
  stops_.erase(exited.container);
  if (ended_.insert(exited.container).second) Tell(exited);
}

// Other schedulers may not notice that they send a report twice.
void SimulatedScheduler::On(const Again& again) { Tell(again.exited); }
void SimulatedScheduler::On(const ContainerPreempting& notice) { Tell(notice); }

void SimulatedScheduler::On(const JobFinished&) {
  link_ = Link::kNotNeeded;
  if (finishes_) am_.OnFinished();
}

void SimulatedScheduler::GoUp() {
  link_ = Link::kUp;
  lost_ = false;
  retry_ = Duration(0);
  next_launch_ = Instant();
  const Inventory inventory = std::exchange(inventory_, {});
  Tell(SchedulerReached{inventory.running});
  for (const ContainerId& container : inventory.running) On(ContainerStarted{container});
  for (const ContainerExited& exited : inventory.exited) On(exited);
  for (const auto& [container, attempt] : launches_) Send({epoch_, Ordered::What::kLaunch, container, attempt});
  for (const auto& [container, mode] : stops_) {
    Send({epoch_, mode == StopMode::kKill ? Ordered::What::kKill : Ordered::What::kTerm, container, {}});
  }
  if (finishes_) Send({epoch_, Ordered::What::kFinish, {}, {}});
}

void SimulatedScheduler::Send(const Ordered& order) {
  if (link_ == Link::kUp) keeper_.Send(channel_, order);
}

void SimulatedScheduler::Tell(SchedulerEvent event) {
  if (auto* exited = std::get_if<ContainerExited>(&event)) {
    const auto attempt = am_.AttemptIn(exited->container);
    const auto kept = attempt ? stage_.disk.outcomes.find(*attempt) : stage_.disk.outcomes.end();
    if (kept != stage_.disk.outcomes.end()) exited->kept = KeptOutcome{*attempt, kept->second};
  }
  if (stage_.MayFail() && random_.Chance(stage_.plan.scheduler.strangers)) TellOfStranger(event);
  am_.Later(Duration(0), [this, event = std::move(event)] { am_.OnScheduler(event); });
}

// Repeats the event about a container that this job never had.
void SimulatedScheduler::TellOfStranger(SchedulerEvent event) {
  const ContainerId stranger{StrCat("stranger-", ++strangers_)};
  if (auto* started = std::get_if<ContainerStarted>(&event)) started->container = stranger;
  if (auto* notice = std::get_if<ContainerPreempting>(&event)) notice->container = stranger;
  if (auto* exited = std::get_if<ContainerExited>(&event)) exited->container = stranger;
  if (auto* reached = std::get_if<SchedulerReached>(&event)) reached->running.push_back(stranger);
  am_.Later(Duration(0), [this, event = std::move(event)] { am_.OnScheduler(event); });
}

}  // namespace tony::sim
