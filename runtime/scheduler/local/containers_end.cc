// The containers' part after their executors': what an executor leaves, and when a container has ended.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <iterator>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/process/own_tree.h"
#include "runtime/process/process_tree.h"
#include "runtime/scheduler/local/containers.h"
#include "runtime/scheduler/local/log_writers.h"

namespace tony::keeper {
namespace {

// Killed processes are gone within some milliseconds; one in the kernel's hands may take seconds.
constexpr Duration kFirstSweepDelay{2};
constexpr Duration kLongestSweepDelay{100};
// Orphans of an adopted executor are init's, and no kernel's list says that none is left: one that turns into another
// program just then shows no mark. So many looks in a row must find nothing.
constexpr int kEmptyLooks = 3;

std::set<pid_t> AsSet(const std::vector<pid_t>& pids) { return {pids.begin(), pids.end()}; }

}  // namespace

void Containers::OnExecutorEnded(const ContainerId& id, std::optional<ExitStatus> status) {
  Container& container = containers_[id];
  container.watch.reset();
  container.process = {};
  if (container.state == State::kRunning) JudgeMemory(container, status);
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
  SweepScope scope{job_, getpid(), {}, [this](pid_t pid) { return runner_.Started(pid); }};
  for (const auto& [id, container] : containers_) {
    if (container.adopted) scope.writes_logs = [this](pid_t pid) { return WritesBelow(pid, folder_ / "logs"); };
    if (container.state != State::kRunning) continue;
    scope.live.insert(id);
    scope.live_executors.insert(container.pid);
  }
  return scope;
}

// Which of our children live on, with all below them: the AM, executors but those that are being killed, and what has
// the mark of one of these.
bool Containers::IsSpared(pid_t child, const std::set<pid_t>& doomed) const {
  if (runner_.Started(child)) return !doomed.contains(child);
  const auto environment = TryEnvironmentOf(child);
  if (!environment) return true;  // it may be a live container's
  const auto id = ContainerOf(*environment, job_);
  const auto container = id ? containers_.find(*id) : containers_.end();
  return container != containers_.end() && container->second.state == State::kRunning;
}

std::set<pid_t> Containers::Doomed() const {
  std::set<pid_t> doomed;
  for (const auto& [id, container] : containers_)
    if (container.state == State::kKilling) doomed.insert(container.pid);
  return doomed;
}

// What no look at /proc has met may still be in the kernel's list of our children.
void Containers::AddStrayChildren(Victims& victims) const {
  for (const pid_t child : OwnChildren().value_or(std::vector<pid_t>())) {
    if (runner_.Started(child) || IsSpared(child, {})) continue;
    const auto id = ContainerOf(EnvironmentOf(child), job_);
    if (id) victims.containers.insert(*id);
    if (!id) victims.strays = true;
  }
}

bool Containers::OrphansMayBeInits() const {
  return std::ranges::any_of(containers_, [](const auto& entry) {
    const Container& container = entry.second;
    return container.adopted && container.cgroup.empty();
  });
}

Victims Containers::KillLeftovers() {
  const std::set<pid_t> doomed = Doomed();
  const auto spared = [&](pid_t child) { return IsSpared(child, doomed); };
  shared_memory_.Note([&] { return SignalOwnTree(0, spared).living; });
  KillOwnTree(spared);
  Victims victims;
  for (int looks = OrphansMayBeInits() ? kEmptyLooks : 1; looks > 0 && victims.Empty(); --looks) {
    const auto processes = TryListProcesses();
    victims.strays = !processes.ok();  // it may be of any container
    if (!processes.ok()) continue;
    victims = FindLeftovers(*processes, Scope());
    shared_memory_.Note([&] { return AsSet(victims.pids); });
    SignalSeen(*processes, victims.pids, SIGKILL);
  }
  AddStrayChildren(victims);
  return victims;
}

void Containers::Sweep() {
  (void)runner_.ReapStrangers();  // what has been reaped is no stray child
  Victims victims = NothingCanBeLeft() ? Victims() : KillLeftovers();
  for (const auto& [id, container] : containers_) {
    const bool ending = container.state == State::kKilling || container.state == State::kSweeping;
    if (ending && !container.cgroup.empty())
      shared_memory_.Note([&cgroup = container.cgroup] { return AsSet(ProcessesInCgroup(cgroup)); });
    if (ending && !container.cgroup.empty() && KillCgroup(container.cgroup)) victims.containers.insert(id);
  }
  if (victims.Empty())
    for (const auto& line : shared_memory_.Free()) LogInfo(line);
  bool again = !victims.Empty();
  for (auto& [id, container] : containers_) {
    again |= container.state == State::kKilling;
    if (container.state == State::kSweeping && !victims.MayBeOf(id)) End(id, container);
  }
  if (!again) return;
  sweep_delay_ = std::clamp(sweep_delay_ * 2, kFirstSweepDelay, kLongestSweepDelay);
  sweep_timer_ = loop_.After(sweep_delay_, [this] { Sweep(); });
}

std::string Containers::KillAllOfJob() {
  (void)runner_.ReapStrangers();
  // AM and executors are gone: what the runner still has writes the history, and may wait for its file system alone.
  const auto writes = [this](pid_t pid) { return runner_.Started(pid); };
  if (!NothingCanBeLeft()) KillOwnTree(writes);
  std::vector<pid_t> left;
  for (int looks = OrphansMayBeInits() ? kEmptyLooks : 1; looks > 0 && left.empty(); --looks) {
    const auto processes = TryListProcesses();
    if (!processes.ok()) return processes.error().message;
    left = FindAllOfJob(*processes, Scope());
    std::erase_if(left, writes);
    SignalSeen(*processes, left, SIGKILL);
  }
  for (const auto& [id, container] : containers_)
    if (!container.cgroup.empty() && KillCgroup(container.cgroup))
      std::ranges::copy(ProcessesInCgroup(container.cgroup), std::back_inserter(left));
  if (left.empty()) return NothingCanBeLeft() ? "" : "a child of the keeper";
  return StrCat(left.size(), " processes, process ", left[0], " for one");
}

}  // namespace tony::keeper
