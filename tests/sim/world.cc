#include "tests/sim/world.h"

#include "runtime/base/strings.h"
#include "tests/sim/history_checker.h"

namespace tony::sim {
namespace {

// Far above what a run takes. A run that reaches it has a part that acts forever while no time passes.
constexpr int64_t kMostSteps = 1'000'000;

}  // namespace

World::World(const Plan& plan, Flaw flaw, bool with_trace, std::ostream* echo)
    : stage_(plan, with_trace, echo), network_(stage_), keeper_(stage_, network_, flaw) {}

void World::Run() {
  keeper_.ComeBack(Duration(0));
  for (const TimedFault& fault : stage_.plan.faults) {
    stage_.time.After(fault.at, [this, fault] {
      if (!keeper_.finished()) keeper_.Apply(fault.fault);
    });
  }
  const Duration limit = stage_.plan.Limit();
  while (!keeper_.finished() && stage_.time.age() <= limit && stage_.time.steps() < kMostSteps) {
    if (!stage_.time.Step()) break;
  }
  if (!keeper_.finished()) stage_.Note(StrCat("given up after ", stage_.time.steps(), " steps"));
  stage_.history.journal = stage_.disk.journal;
}

Coverage World::coverage() const {
  Coverage coverage = stage_.coverage;
  coverage.AddJournal(stage_.plan.spec, stage_.disk.journal);
  return coverage;
}

std::vector<std::string> ComplaintsAbout(const Plan& plan, Flaw flaw, Coverage* coverage) {
  World world(plan, flaw);
  world.Run();
  if (coverage) coverage->Merge(world.coverage());
  return HistoryChecker::Check(plan.spec, world.history());
}

}  // namespace tony::sim
