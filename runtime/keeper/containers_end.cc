// The end of a container: finds and kills the processes that its executor leaves, and detects when none of them is
// left.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <iterator>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/keeper/containers.h"
#include "runtime/keeper/keeper_pulse.h"
#include "runtime/os/cgroup.h"
#include "runtime/os/process_tree.h"

namespace tony::keeper {
namespace {

// The delays between searches grow from the first to the longest. Killed processes exit within some milliseconds; a
// process that the kernel holds may take seconds.
constexpr Duration kFirstSweepDelay{2};
constexpr Duration kLongestSweepDelay{100};
// The number of searches in a row that must find nothing if the executor was adopted, i.e. started by an earlier
// keeper of the job. The orphans of an adopted executor are children of init, so the list of our own children does not
// include them. A single search may miss an orphan, because a process that is calling exec at that moment shows no
// mark.
constexpr int kEmptyLooks = 3;
// The number of searches of one KillChosen(), which bounds its time if processes fork without pause.
constexpr int kMostSearches = 100;
// The factor by which the wait `patience_` is multiplied for processes that this user may end. Such processes may
// survive for a time, e.g. by forking without pause.
constexpr int kMorePatience = 3;
constexpr Duration kBetweenLooksAtLeft{1000};

std::set<pid_t> AsSet(const std::vector<pid_t>& pids) { return {pids.begin(), pids.end()}; }

// Kills the processes that `choose` returns of a list. A process may fork and exit before the whole list is read, so
// the signal to this process comes too late. Therefore the search is repeated among the processes that have started
// since the newest chosen one. These are few, so the next process of such a chain is still alive when the search finds
// it.
Status KillChosen(const std::function<std::vector<pid_t>(std::vector<ProcessEntry>&)>& choose) {
  pid_t newest = 0;
  for (int searches = 0; searches < kMostSearches; ++searches) {
    TRY_ASSIGN(auto processes, TryListProcesses(newest));
    const std::vector<pid_t> chosen = choose(processes);
    if (chosen.empty()) break;
    SignalIfUnchanged(processes, chosen, SIGKILL);
    newest = *std::ranges::max_element(chosen);
  }
  return Ok();
}

}  // namespace

void Containers::OnExecutorEnded(const ContainerId& id, std::optional<ExitStatus> status) {
  Container& container = containers_[id];
  container.watch.reset();
  container.process = {};
  if (container.state == State::kRunning) JudgeMemory(container, status);
  if (container.state != State::kLeft) container.state = State::kSweeping;
  container.exited.status = status;
  LogInfo(StrCat("executor of container ", id.value, " ended: ", status ? ToString(*status) : "cause unknown"));
  SweepSoon();
}

void Containers::End(const ContainerId& id, Container& container) {
  container.state = State::kEnded;
  if (std::exchange(container.exited.left, false)) container.exited.error.clear();
  // The cgroup is removed before the end is recorded, because a later keeper does not check a container whose end is
  // recorded.
  RemoveCgroupOf(container);
  if (IsContainerName(id)) WarnUnless(records_.Exited(container.exited));
  if (!container.exited.error.empty()) LogWarn(StrCat("container ", id.value, ": ", container.exited.error));
  listener_.on_exited(container.exited);
  if (!container.gpus.empty()) StartWaiting();
}

void Containers::WarnUnless(const Status& status) {
  if (!status.ok()) LogWarn(status.error().message);
}

// A single search through all processes serves every container that ended in the same turn of the event loop.
void Containers::SweepSoon() {
  sweep_delay_ = Duration(0);
  swept_at_ = loop_.Now();
  sweep_timer_ = loop_.After(sweep_delay_, [this] { Sweep(); });
}

// Returns true if no container can have left a process. The orphans of an executor become children of its nearest
// subreaper. If the executor was a child of this keeper, its nearest subreaper is this keeper, so the list of our own
// children is enough.
bool Containers::NothingCanBeLeft() const {
  for (const auto& [id, container] : containers_)
    if (container.state == State::kKilling || (container.state == State::kSweeping && container.adopted)) return false;
  const auto children = OwnChildren();
  const std::set<pid_t> left = LeftAlive();
  return children &&
         std::ranges::all_of(*children, [&](pid_t pid) { return runner_.Started(pid) || left.contains(pid); });
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

// Returns true if a child of the keeper must be spared, with all processes below it. The AM, each executor that is not
// being killed, and each process with the mark of a running container are spared.
bool Containers::IsSpared(pid_t child, const std::set<pid_t>& doomed) const {
  if (runner_.Started(child)) return !doomed.contains(child);
  const auto environment = TryEnvironmentOf(child);
  // A child whose environment cannot be read is spared, because it may belong to a running container.
  if (!environment) return true;
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

// Adds the children of the keeper that no search of /proc has found and that the kernel still lists.
void Containers::AddStrayChildren(Victims& victims) const {
  const std::set<pid_t> left = LeftAlive();
  for (const pid_t child : OwnChildren().value_or(std::vector<pid_t>())) {
    if (runner_.Started(child) || IsSpared(child, {}) || left.contains(child)) continue;
    victims.pids.push_back(child);
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

std::set<pid_t> Containers::LeftAlive() const {
  std::set<pid_t> alive;
  for (const auto& [id, container] : containers_)
    for (const auto& process : container.left)
      if (const auto stat = ReadStat(process.pid); stat && !stat->dead && stat->start_time == process.start_time)
        alive.insert(process.pid);
  return alive;
}

Victims Containers::KillLeftovers() {
  const std::set<pid_t> doomed = Doomed();
  const std::set<pid_t> left = LeftAlive();
  const auto spared = [&](pid_t child) { return IsSpared(child, doomed); };
  shared_memory_.Note([&] { return SignalDescendants(0, spared).living; });
  KillDescendants(spared);
  Victims victims;
  for (int looks = OrphansMayBeInits() ? kEmptyLooks : 1; looks > 0 && victims.Empty(); --looks) {
    const Status searched = KillChosen([&](std::vector<ProcessEntry>& processes) {
      std::erase_if(processes, [&](const ProcessEntry& process) { return left.contains(process.pid); });
      Victims found = FindLeftovers(processes, Scope());
      shared_memory_.Note([&] { return AsSet(found.pids); });
      std::vector<pid_t> pids = found.pids;
      if (victims.Empty()) victims = std::move(found);
      return pids;
    });
    // If the search fails, a process of any container may remain.
    if (victims.Empty()) victims.strays = !searched.ok();
  }
  AddStrayChildren(victims);
  return victims;
}

// Gives up on processes that SIGKILL does not end, so that the end of the container is reported in bounded time. An
// executor that does not die is treated like any other process. The keeper continues to wait for a process that is not
// visible.
void Containers::JudgeLeft(const ContainerId& id, Container& container, const std::set<pid_t>& victims) {
  container.killed_for += since_sweep_;
  if (container.killed_for < patience_) return;
  // The processes that other containers have left. The next sweep ignores them.
  const std::set<pid_t> known = LeftAlive();
  std::string first;
  for (const pid_t pid : victims) {
    if (known.contains(pid)) continue;
    std::string why = WhyKillFails(pid);
    if (why.empty() && container.killed_for < kMorePatience * patience_) return;
    if (why.empty()) why = StrCat(DescribeWithState(pid), ", survives SIGKILL");
    if (first.empty()) first = std::move(why);
  }
  if (first.empty()) return;
  for (const pid_t pid : victims) container.left.push_back({pid, 0, "", StartTime(pid)});
  LogError(StrCat("container ", id.value, ": ", first));
  container.state = State::kLeft;
  // The text about memory stays in front, because it explains why the executor ended.
  container.exited.error += StrCat(container.exited.error.empty() ? "" : "; ", first);
  container.exited.left = true;
  listener_.on_exited(container.exited);
}

void Containers::LookAtLeft(const ContainerId& id, Container& container) {
  const std::set<pid_t> alive = LeftAlive();
  if (std::ranges::none_of(container.left, [&](const auto& process) { return alive.contains(process.pid); }))
    End(id, container);
}

void Containers::Sweep() {
  // The time during which the keeper itself was stopped does not count as time that a killed process survived.
  since_sweep_ = std::min(loop_.Now() - std::exchange(swept_at_, loop_.Now()), kBetweenLooksAtLeft);
  (void)runner_.ReapAllChildren();  // reaped children are not strays
  Victims victims = NothingCanBeLeft() ? Victims() : KillLeftovers();
  std::set<pid_t> alive(victims.pids.begin(), victims.pids.end());
  for (const auto& [id, container] : containers_) {
    const bool ending = container.state == State::kKilling || container.state == State::kSweeping;
    if (ending && !container.cgroup.empty())
      shared_memory_.Note([&cgroup = container.cgroup] { return AsSet(ProcessesInCgroup(cgroup)); });
    if (ending && !container.cgroup.empty() && KillCgroup(container.cgroup)) victims.containers.insert(id);
    if (container.state == State::kKilling) alive.insert(container.pid);
    if (!ending || container.cgroup.empty()) continue;
    for (const pid_t pid : ProcessesInCgroup(container.cgroup)) alive.insert(pid);
  }
  if (victims.Empty())
    for (const auto& line : shared_memory_.Free()) LogInfo(line);
  bool again = !victims.Empty();
  bool is_left = false;
  for (auto& [id, container] : containers_) {
    if (container.state == State::kLeft) LookAtLeft(id, container);
    if (container.state == State::kSweeping && !victims.MayBeOf(id)) End(id, container);
    if (container.state == State::kSweeping || container.state == State::kKilling) JudgeLeft(id, container, alive);
    again |= container.state == State::kKilling || container.state == State::kSweeping;
    is_left |= container.state == State::kLeft;
  }
  if (!again && !is_left) return;
  sweep_delay_ = std::clamp(sweep_delay_ * 2, kFirstSweepDelay, kLongestSweepDelay);
  sweep_timer_ = loop_.After(again ? sweep_delay_ : kBetweenLooksAtLeft, [this] { Sweep(); });
}

std::string Containers::KillAllOfJob() {
  (void)runner_.ReapAllChildren();
  // The AM and the executors have exited. The processes that the runner still has write the history. These processes
  // are spared, because they may be waiting for the file system of the history.
  const auto writes = [this, is_left = LeftAlive()](pid_t pid) {
    return runner_.Started(pid) || is_left.contains(pid);
  };
  if (!NothingCanBeLeft()) KillDescendants(writes);
  std::vector<pid_t> left;
  for (int looks = OrphansMayBeInits() ? kEmptyLooks : 1; looks > 0 && left.empty(); --looks) {
    const Status searched = KillChosen([&](const std::vector<ProcessEntry>& processes) {
      std::vector<pid_t> found = FindAllOfJob(processes, Scope());
      std::erase_if(found, writes);
      if (left.empty()) left = found;
      return found;
    });
    if (!searched.ok()) return searched.error().message;
  }
  for (const auto& [id, container] : containers_)
    if (!container.cgroup.empty() && container.state != State::kLeft && KillCgroup(container.cgroup))
      std::ranges::copy(ProcessesInCgroup(container.cgroup), std::back_inserter(left));
  if (left.empty()) return NothingCanBeLeft() ? "" : "a child of the keeper";
  return left.size() == 1 ? DescribeWithState(left[0])
                          : StrCat(left.size(), " processes, for example ", DescribeWithState(left[0]));
}

// The cgroups of the containers. Without cgroups, containers run without a memory limit.

void Containers::FindCgroups(bool with_limits) {
  auto place = with_limits
                   ? FindCgroupPlace()
                   : Result<CgroupPlace>(UnavailableError("the job turned the limits off (tony.local.memory-limits)"));
  if (place.ok()) {
    LogInfo(StrCat("memory limits by cgroup ", ToString(place->version), " below ", place->folder.string()));
  } else {
    LogInfo(StrCat("the memory of containers is not limited: ", place.error().message));
    place = FindPlaceWithoutLimits();
    if (!place.ok()) return LogInfo(StrCat("containers run without cgroups: ", place.error().message));
    LogInfo(StrCat("the processes of a container are grouped by cgroup v2, without limits, below ",
                   place->folder.string()));
  }
  cgroups_ = *place;
  warmth_ = KeepCgroupsWarm();
}

UniqueFd Containers::MakeCgroupFor(const LaunchContainer& launch, Container& container) {
  if (!cgroups_) return UniqueFd();
  warmth_.request_stop();
  auto made = cgroups_->limits ? MakeCgroup(container.cgroup, launch.what.resources)
                               : MakeCgroupWithoutLimits(container.cgroup);
  if (made.ok()) return *std::move(made);
  DoWithoutCgroups(container, made.error().message);
  return UniqueFd();
}

// Checks whether the executor has entered its cgroup. If the first executor cannot enter its cgroup, cgroups are turned
// off for all containers. If it can, the other executors can enter theirs, and no further check is made.
void Containers::CheckThatItsCgroupHasIt(Container& container) {
  if (container.cgroup.empty() || cgroups_work_) return;
  cgroups_work_ = !ProcessesInCgroup(container.cgroup).empty();
  if (cgroups_work_) return;
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(container.pid), &info, WEXITED | WNOHANG | WNOWAIT);
  // An executor that has already ended is in no cgroup. Therefore the empty cgroup does not show whether the executor
  // had entered it.
  if (info.si_pid != 0) return;
  DoWithoutCgroups(container, StrCat(container.cgroup.string(), " does not accept the executor"));
}

void Containers::DoWithoutCgroups(Container& container, const std::string& why) {
  LogWarn(StrCat("containers run without cgroups: ", why));
  cgroups_.reset();
  RemoveCgroupOf(container);
  container.cgroup.clear();
}

// Sets the error text if the kernel killed the executor for lack of memory. Called before any remaining process of the
// container is killed. At the container's limit the kernel may kill even the executor, because killing other processes
// frees nothing if files in /dev/shm fill the memory. If the kernel has already killed another process of the
// container, a SIGKILL from another sender cannot be distinguished, and counts as the kernel's.
void Containers::JudgeMemory(Container& container, const std::optional<ExitStatus>& status) {
  const bool seen = status.has_value();
  if (seen && *status != ExitStatus{ExitStatus::Kind::kSignaled, SIGKILL}) return;
  const auto version = container.cgroup.empty() ? std::nullopt : MemoryCgroupVersion(container.cgroup);
  const int64_t kills = version ? OomKillsOfTree(container.cgroup) : 0;
  if (kills == 0) return;
  container.exited.error = DescribeOom(MemoryOf(*version, container.cgroup), "the container's", kills);
  if (seen && !container.exited.error.empty())
    container.exited.error += kills == 1 ? ": the executor" : ", one of them the executor";
}

void Containers::RemoveCgroupOf(Container& container) {
  if (container.cgroup.empty()) return;
  const Status removed = RemoveCgroup(container.cgroup);
  if (removed.ok()) {
    container.cgroup.clear();
  } else {
    LogWarn(removed.error().message);
  }
}

void Containers::RemoveCgroups() {
  constexpr std::chrono::seconds kSurelyForgotten{60};
  for (auto& [id, container] : containers_) RemoveCgroupOf(container);
  if (cgroups_) RemoveForgottenCgroups(*cgroups_, kSurelyForgotten);
}

}  // namespace tony::keeper
