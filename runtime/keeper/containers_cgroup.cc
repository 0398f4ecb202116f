// The containers' cgroups. Without them they do as well: then nothing limits their memory.
#include <sys/wait.h>

#include <csignal>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/keeper/containers.h"
#include "runtime/os/cgroup_memory.h"

namespace tony::keeper {

void Containers::FindCgroups(bool with_limits) {
  auto place =
      with_limits ? FindCgroupPlace() : Result<CgroupPlace>(Error{ErrorCode::kUnavailable, "the job wants none"});
  if (place.ok()) {
    LogInfo(StrCat("memory limits by cgroup ", ToString(place->version), " below ", place->folder.string()));
  } else {
    LogInfo(StrCat("no memory limits: ", place.error().message));
    place = FindPlaceWithoutLimits();
    if (!place.ok()) return LogInfo(StrCat("no cgroups for containers: ", place.error().message));
    LogInfo(StrCat("containers are kept together by cgroup v2 below ", place->folder.string()));
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

// What does not work for the first will not for any, and what works for it will for all.
void Containers::CheckThatItsCgroupHasIt(Container& container) {
  if (container.cgroup.empty() || cgroups_work_) return;
  cgroups_work_ = !ProcessesInCgroup(container.cgroup).empty();
  if (cgroups_work_) return;
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(container.pid), &info, WEXITED | WNOHANG | WNOWAIT);
  if (info.si_pid != 0) return;  // it has ended already, so nothing was to be seen
  DoWithoutCgroups(container, StrCat(container.cgroup.string(), " lets nobody in"));
}

void Containers::DoWithoutCgroups(Container& container, const std::string& why) {
  LogWarn(StrCat("no cgroups for containers: ", why));
  cgroups_.reset();
  RemoveCgroupOf(container);
  container.cgroup.clear();
}

// Before anybody kills what the executor has left. The kernel may choose the executor at the container's limit, because
// a file in /dev/shm keeps its memory whoever is killed before. A SIGKILL that others sent after a kill which the
// program survived is taken for the kernel's, too, because nobody can tell them apart.
void Containers::JudgeMemory(Container& container, const std::optional<ExitStatus>& status) {
  const bool seen = status.has_value();
  if (seen && *status != ExitStatus{ExitStatus::Kind::kSignaled, SIGKILL}) return;
  const auto version = container.cgroup.empty() ? std::nullopt : CountsMemory(container.cgroup);
  const int64_t kills = version ? OomKillsOfTree(container.cgroup) : 0;
  if (kills == 0) return;
  container.exited.error = DescribeOom(MemoryOf(*version, container.cgroup), "the container's", kills);
  if (seen && !container.exited.error.empty())
    container.exited.error += kills == 1 ? ", the executor" : ", one of them the executor";
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
