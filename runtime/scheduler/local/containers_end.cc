// The containers' part after their executors': what an executor leaves, and when a container has ended.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/process/process_tree.h"
#include "runtime/scheduler/local/containers.h"
#include "runtime/scheduler/local/log_writers.h"

namespace tony::keeper {
namespace {

// Killed processes are gone within some milliseconds; one in the kernel's hands may take seconds.
constexpr Duration kFirstSweepDelay{2};
constexpr Duration kLongestSweepDelay{100};

}  // namespace

void Containers::OnExecutorEnded(const ContainerId& id, std::optional<ExitStatus> status) {
  Container& container = containers_[id];
  container.watch.reset();
  container.pidfd.Reset();
  container.state = State::kSweeping;
  container.exited.status = status;
  LogInfo(StrCat("executor of container ", id.value, " ended: ", status ? ToString(*status) : "not seen how"));
  SweepSoon();
}

void Containers::End(const ContainerId& id, Container& container) {
  container.state = State::kEnded;
  RemoveCgroupOf(container);  // first: a container whose end is recorded is not looked at again
  if (IsContainerName(id)) WarnUnless(records_.Exited(container.exited));
  if (!container.exited.error.empty()) LogWarn(StrCat("container ", id.value, ": ", container.exited.error));
  listener_.on_exited(container.exited);
  if (!container.gpus.empty()) StartWaiting();
}

void Containers::WarnUnless(const Status& status) {
  if (!status.ok()) LogWarn(status.error().message);
}

// One look at all processes serves every container that ended in this turn of the loop.
void Containers::SweepSoon() {
  sweep_delay_ = Duration(0);
  sweep_timer_ = loop_.After(sweep_delay_, [this] { Sweep(); });
}

// What an executor leaves comes to its subreaper, which is us if it was our child.
bool Containers::NothingCanBeLeft() const {
  for (const auto& [id, container] : containers_)
    if (container.state == State::kKilling || (container.state == State::kSweeping && container.adopted)) return false;
  const auto children = OwnChildren();
  return children && std::ranges::all_of(*children, [this](pid_t pid) { return runner_.Started(pid); });
}

SweepScope Containers::Scope() const {
  SweepScope scope{folder_.job(), getpid(), {}, [this](pid_t pid) { return runner_.Started(pid); }};
  for (const auto& [id, container] : containers_) {
    if (container.adopted) scope.writes_logs = [this](pid_t pid) { return WritesBelow(pid, folder_.path() / "logs"); };
    if (container.state != State::kRunning) continue;
    scope.live.insert(id);
    scope.live_executors.insert(container.pid);
  }
  return scope;
}

void Containers::Sweep() {
  Victims victims = NothingCanBeLeft() ? Victims() : FindLeftovers(ListProcesses(), Scope());
  for (const auto& [id, container] : containers_)
    if (!container.cgroup.empty() && (container.state == State::kKilling || container.state == State::kSweeping))
      victims.Add(id, ProcessesInCgroup(container.cgroup));
  SignalAll(victims.pids, SIGKILL);
  for (auto& [id, container] : containers_)
    if (container.state == State::kSweeping && !victims.MayBeOf(id)) End(id, container);
  if (victims.pids.empty()) return;
  sweep_delay_ = std::clamp(sweep_delay_ * 2, kFirstSweepDelay, kLongestSweepDelay);
  sweep_timer_ = loop_.After(sweep_delay_, [this] { Sweep(); });
}

}  // namespace tony::keeper
