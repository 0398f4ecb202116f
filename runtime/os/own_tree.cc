#include "runtime/os/own_tree.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <iterator>
#include <utility>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/os/held_process.h"
#include "runtime/os/process_tree.h"

namespace tony {
namespace {

// Each level of the tree has two descriptors open. What is deeper comes up as those above it end.
constexpr int kDeepest = 200;
// Each stops those that were forked during the one before. A bomb that has room for ever has to wait for the next call.
constexpr int kStoppingPasses = 10;
// One that gets through would fill the room again before the next call.
constexpr int kRounds = 3;

class Walk {
 public:
  Walk(int signal, const Spared& spared) : signal_(signal), spared_(spared) {}

  void Run() {
    const auto children = OwnChildren();
    if (!children) return RunWithoutTheirHelp();
    for (const pid_t child : *children)
      if (!spared_ || !spared_(child)) Visit(child, getpid(), nullptr, 0);
  }

  const TreeWalk& met() const { return met_; }
  const std::vector<ProcessEntry>& seen() const { return seen_; }  // zombies, too; parents before their children

 private:
  void Visit(pid_t pid, pid_t parent, const HeldProcess* held_parent, int depth) {
    const HeldProcess process(pid);
    const auto stat = ReadStat(pid);
    // Otherwise its parent ended meanwhile, and it is our child by now.
    if (!stat || stat->parent != parent || (held_parent && !held_parent->Signal(0))) return;
    Meet(pid, *stat);
    if (signal_ != 0 && !held_parent) kill(pid, signal_);  // our child, not reaped: the number is still its own
    if (signal_ != 0 && held_parent) (void)process.Signal(signal_);
    if (depth == kDeepest) return;
    for (const pid_t child : ChildrenOf(pid)) Visit(child, pid, &process, depth + 1);
  }

  void Meet(pid_t pid, const ProcessStat& stat) {
    seen_.push_back({pid, stat.parent, "", stat.start_time});
    if (stat.dead) return;
    met_.living.insert(pid);
    met_.in_kernel += stat.state == 'D';
  }

  // On a kernel that tells nobody's children: by a list of all processes, which is older when they are signalled.
  void RunWithoutTheirHelp() {
    const auto processes = ListProcesses();
    std::vector<ProcessEntry> meant;
    std::ranges::copy_if(processes, std::back_inserter(meant), [this](const ProcessEntry& process) {
      return process.parent != getpid() || !spared_ || !spared_(process.pid);
    });
    const auto below = DescendantsIn(meant, getpid());
    for (const pid_t pid : below)
      if (const auto stat = ReadStat(pid)) Meet(pid, *stat);
    if (signal_ != 0) SignalSeen(processes, below, signal_);
  }

  const int signal_;
  const Spared& spared_;
  TreeWalk met_;
  std::vector<ProcessEntry> seen_;
};

// Each as soon as it is met.
TreeWalk SignalOnTheWay(int signal, const Spared& spared) {
  Walk walk(signal, spared);
  walk.Run();
  return walk.met();
}

// Whether there is one that was not met before, and so was not signalled.
bool HasNew(const TreeWalk& walk, const TreeWalk& before) {
  return std::ranges::any_of(walk.living, [&](pid_t pid) { return !before.living.contains(pid); });
}

}  // namespace

std::string TreeWalk::Describe() const {
  return StrCat(living.size(), living.size() == 1 ? " process" : " processes", ", process ", *living.begin(),
                " for one");
}

TreeWalk SignalOwnTree(int signal, const Spared& spared) {
  Walk look(0, spared);
  look.Run();
  for (const ProcessEntry& process : look.seen()) SignalSeen(process, signal);
  return look.met();
}

TreeWalk KillOwnTree(const Spared& spared) {
  for (int round = 0; round < kRounds; ++round) {
    TreeWalk before = SignalOnTheWay(SIGKILL, spared);
    TreeWalk now = SignalOnTheWay(SIGSTOP, spared);
    if (!HasNew(now, before)) return now;
    for (int pass = 1; pass < kStoppingPasses && HasNew(now, before); ++pass) {
      before = std::move(now);
      now = SignalOnTheWay(SIGSTOP, spared);
    }
  }
  return SignalOnTheWay(SIGKILL, spared);
}

}  // namespace tony
