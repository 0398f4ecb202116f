#include "tests/sim/simulated_keeper.h"

#include <algorithm>
#include <csignal>

#include "runtime/base/overloaded.h"
#include "runtime/base/strings.h"

namespace tony::sim {
namespace {

constexpr Duration kSlowestMessage{3};  // over the keeper's socket
constexpr Duration kFirstBackOff{100};
constexpr Duration kLongestBackOff{5'000};
constexpr Duration kSweepAgain{10};
// An AM that has not renewed for so long is killed.
constexpr Duration kAmStandsStill{30'000};

}  // namespace

SimulatedKeeper::SimulatedKeeper(Stage& stage, Network& network, Flaw flaw)
    : stage_(stage), network_(network), random_(stage.random.Fork()), crashes_(stage), flaw_(flaw) {}

void SimulatedKeeper::Begin() { StartAm(Duration(0)); }

void SimulatedKeeper::StartAm(Duration delay) {
  const AmPlan& plan = stage_.plan.am;
  stage_.time.After(delay + random_.Between(plan.shortest_start, plan.longest_start), [this] {
    epoch_ = epoch_.Next();
    ams_.push_back(std::make_unique<SimulatedAm>(stage_, network_, *this, crashes_, epoch_, flaw_));
    ams_.back()->Begin();
  });
}

void SimulatedKeeper::AmEnded(Epoch epoch) {
  if (finished_ || epoch != epoch_) return;
  StartAm(back_off_);
  back_off_ = std::clamp(back_off_ * 2, kFirstBackOff, kLongestBackOff);
}

void SimulatedKeeper::Hello(Epoch epoch) {
  stage_.time.After(random_.Between(Duration(0), kSlowestMessage), [this, epoch] {
    if (epoch != epoch_ || finished_) return;
    connected_ = epoch;
    SchedulerReached reached;
    for (const auto& [id, container] : containers_) {
      if (container.state != State::kGone) reached.running.push_back(id);
    }
    Report(reached);
    for (const auto& [id, container] : containers_) {
      if (container.state == State::kGone) {
        Report(ContainerExited{id, container.exit});
      } else {
        Report(ContainerStarted{id});
      }
    }
  });
}

// Grants come from the AM's own scheduler code: they die with it.
void SimulatedKeeper::Request(Epoch epoch, const std::vector<ContainerAsk>& asks) {
  for (const ContainerAsk& ask : asks) {
    const TaskPlan& task = stage_.plan.tasks.at(ask.attempt.task);
    Grant(epoch, ask.attempt, task.grant);
    if (task.granted_twice) Grant(epoch, ask.attempt, task.grant + Duration(random_.Between(0, 10)));
  }
}

void SimulatedKeeper::Grant(Epoch epoch, const AttemptId& attempt, Duration delay) {
  const ContainerId id{StrCat(epoch.value, "-", granted_.size() + 1)};
  granted_[id] = attempt;
  stage_.time.After(delay, [this, epoch, attempt, id] {
    if (epoch == epoch_ && ams_.back()->alive()) ams_.back()->OnScheduler(ContainerGranted{attempt, id, "node"});
  });
}

void SimulatedKeeper::Order(const Ordered& order) {
  orders_until_ = std::max(orders_until_, stage_.time.now() + random_.Between(Duration(0), kSlowestMessage));
  stage_.time.At(orders_until_, [this, order] {
    if (order.epoch == epoch_ && !finished_) Take(order);
  });
}

void SimulatedKeeper::Take(const Ordered& order) {
  stage_.Add(order);
  switch (order.what) {
    case Ordered::What::kLaunch:
      if (!containers_.contains(order.container)) Launch(order.container, granted_.at(order.container));
      return;
    case Ordered::What::kTerm:
      return Terminate(order.container);
    case Ordered::What::kKill:
      return Kill(order.container);
    case Ordered::What::kFinish:
      return Finish();
  }
}

void SimulatedKeeper::Launch(const ContainerId& id, const AttemptId& attempt) {
  Container& container = containers_[id];
  container.executor = std::make_unique<SimulatedExecutor>(stage_, network_, attempt, id, ++last_port_);
  Report(ContainerStarted{id});
  const TaskPlan& plan = stage_.plan.tasks.at(attempt.task);
  stage_.time.After(plan.launch, [this, id, fails = plan.launch_fails] {
    if (containers_.at(id).state != State::kLaunching) return;
    if (fails) {
      ExecutorLeft(id, {ExitStatus::Kind::kExited, 1});
    } else {
      Run(id);
    }
  });
}

void SimulatedKeeper::Run(const ContainerId& id) {
  Container& container = containers_.at(id);
  container.state = State::kRunning;
  container.executor->Begin([this, id](int code) { ExecutorLeft(id, {ExitStatus::Kind::kExited, code}); });
}

void SimulatedKeeper::Terminate(const ContainerId& id) {
  const auto [found, unknown] = containers_.try_emplace(id);
  if (unknown) return Gone(id);  // its launch has been lost, and must not come after this
  if (found->second.state == State::kLaunching) ExecutorLeft(id, {ExitStatus::Kind::kSignaled, SIGTERM});
  if (found->second.state == State::kRunning) found->second.executor->Terminate();
}

void SimulatedKeeper::Kill(const ContainerId& id) {
  const auto [found, unknown] = containers_.try_emplace(id);
  if (unknown) return Gone(id);
  if (found->second.state != State::kLaunching && found->second.state != State::kRunning) return;
  found->second.executor->Die();
  ExecutorLeft(id, {ExitStatus::Kind::kSignaled, SIGKILL});
}

void SimulatedKeeper::ExecutorLeft(const ContainerId& id, ExitStatus exit) {
  Container& container = containers_.at(id);
  container.state = State::kSweeping;
  container.exit = exit;
  stage_.time.After(random_.Between(Duration(0), kSweepAgain), [this, id] { Sweep(id); });
}

void SimulatedKeeper::Sweep(const ContainerId& id) {
  SimulatedExecutor& executor = *containers_.at(id).executor;
  if (!executor.AnythingLeft()) return Gone(id);
  executor.SignalAll(SIGKILL);
  stage_.time.After(kSweepAgain, [this, id] { Sweep(id); });
}

void SimulatedKeeper::Gone(const ContainerId& id) {
  Container& container = containers_.at(id);
  container.state = State::kGone;
  stage_.Add(ContainerGone{id});
  Report(ContainerExited{id, container.exit});
}

void SimulatedKeeper::Finish() {
  finished_ = true;
  stage_.Add(JobClosed{});
  ams_.back()->Die();
}

void SimulatedKeeper::Report(SchedulerEvent event) {
  const Epoch to = connected_;
  reports_until_ = std::max(reports_until_, stage_.time.now() + random_.Between(Duration(0), kSlowestMessage));
  stage_.time.At(reports_until_, [this, to, event = std::move(event)] {
    if (to == epoch_ && ams_.back()->alive()) ams_.back()->OnScheduler(event);
  });
}

void SimulatedKeeper::Changed() {
  if (!ams_.empty() && ams_.back()->alive()) ams_.back()->FolderChanged();
  for (const auto& [id, container] : containers_) {
    if (container.state == State::kRunning) container.executor->LeaseChanged();
  }
}

SimulatedExecutor* SimulatedKeeper::ExecutorOf(const TaskId& task) {
  for (const auto& [id, container] : containers_) {
    if (container.state == State::kRunning && container.executor->task() == task) return container.executor.get();
  }
  return nullptr;
}

void SimulatedKeeper::Apply(const Fault& fault) {
  SimulatedAm* am = !ams_.empty() && ams_.back()->alive() ? ams_.back().get() : nullptr;
  std::visit(Overloaded{
                 [&](const CrashAm&) {
                   if (!am || !crashes_.MayCrash()) return;
                   crashes_.Count();
                   am->Die();
                 },
                 [&](const FreezeAm& f) {
                   if (!am) return;
                   am->Freeze(std::min(f.length, kAmStandsStill));
                   if (f.length > kAmStandsStill) stage_.time.After(kAmStandsStill, [am] { am->Die(); });
                 },
                 [&](const LoseKeeper& f) {
                   if (am) am->LoseKeeper(f.length);
                 },
                 [&](const KillExecutor& f) {
                   for (auto& [id, c] : containers_) {
                     if (c.state == State::kRunning && c.executor->task() == f.task) return Kill(id);
                   }
                 },
                 [&](const TermExecutor& f) {
                   if (SimulatedExecutor* executor = ExecutorOf(f.task)) executor->Terminate();
                 },
                 [&](const StallExecutor& f) {
                   if (SimulatedExecutor* executor = ExecutorOf(f.task)) executor->Stall(f.length);
                 },
                 [&](const CutNetwork& f) {
                   network_.Cut(f.task, f.length);
                   SimulatedExecutor* executor = ExecutorOf(f.task);
                   if (executor && f.store_too) executor->CutStore(f.length);
                 },
                 [&](const AskKill& f) {
                   auto& request = stage_.disk.kill_request;
                   if (!request || f.grace < *request) request = f.grace;
                   stage_.Add(KillWritten{});
                   Changed();
                 },
             },
             fault);
}

}  // namespace tony::sim
