// What goes wrong at a certain time, and whom it concerns.
#include <algorithm>

#include "runtime/base/result.h"
#include "runtime/base/strings.h"
#include "tests/sim/simulated_keeper.h"

namespace tony::sim {

void SimulatedKeeper::Apply(const Fault& fault) {
  ApplyToAm(fault);
  ApplyToFiles(fault);
  ApplyToKeeper(fault);
  ApplyToContainers(fault);
  engine_.Apply(fault);
}

void SimulatedKeeper::ApplyToAm(const Fault& fault) {
  SimulatedAm* am = Am();
  if (!am) return;
  if (const auto* crash = std::get_if<CrashAm>(&fault)) {
    if (crash->more == 0 && !crashes_.MayCrash()) return;
    crashes_.Count();
    doomed_ams_ = crash->more;
    am->Die();
  }
  if (const auto* freeze = std::get_if<FreezeAm>(&fault)) am->Freeze(freeze->length);
}

void SimulatedKeeper::ApplyToFiles(const Fault& fault) {
  Disk& disk = stage_.disk;
  const Instant now = stage_.time.now();
  std::visit(
      Overloaded{
          [&](const FillDisk& f) { disk.full_until = std::max(disk.full_until, now + f.length); },
          [&](const FailSync&) { disk.sync_fails = true; },
          [&](const LockLease& f) { disk.lease_locked_until = std::max(disk.lease_locked_until, now + f.length); },
          [&](const AskKill& f) {
            auto& request = disk.kill_request;
            if (!request || f.grace < *request) request = f.grace;
            stage_.Add(KillWritten{});
          },
          [](const auto&) {},
      },
      fault);
}

void SimulatedKeeper::ApplyToKeeper(const Fault& fault) {
  if (const auto* freeze = std::get_if<FreezeKeeper>(&fault)) {
    stage_.Note(StrCat("the keeper stands still for ", freeze->length.count(), " ms"));
    thaws_at_ = std::max(thaws_at_, stage_.time.now() + freeze->length);
  }
  if (const auto* kill = std::get_if<KillKeeper>(&fault)) {
    thaws_at_ = {};
    Die();
    ComeBack(kill->back_after);
  }
}

void SimulatedKeeper::ApplyToContainers(const Fault& fault) {
  std::visit(Overloaded{
                 [&](const TermExecutor& f) {
                   if (SimulatedExecutor* executor = containers_.ExecutorOf(f.task)) executor->Terminate();
                 },
                 [&](const StallExecutor& f) {
                   if (SimulatedExecutor* executor = containers_.ExecutorOf(f.task)) executor->Stall(f.length);
                 },
                 [&](const CutStore& f) {
                   if (SimulatedExecutor* executor = containers_.ExecutorOf(f.task)) executor->CutStore(f.length);
                 },
                 [&](const KillExecutor& f) { containers_.Apply(f); },
                 [&](const CutNetwork& f) { containers_.Apply(f); },
                 [&](const EndContainer& f) { containers_.Apply(f); },
                 [&](const Preempt& f) { containers_.Apply(f); },
                 [&](const LoseNode& f) { containers_.Apply(f); },
                 [&](const LieAboutEnd& f) { containers_.Apply(f); },
                 [&](const DoubtEnd& f) { containers_.Apply(f); },
                 [](const auto&) {},
             },
             fault);
}

}  // namespace tony::sim
