#include "tests/sim/plan.h"

#include <algorithm>

#include "tests/sim/random.h"

namespace tony::sim {
namespace {

constexpr Duration kFaultsEnd{60'000};

RoleSpec Role(const std::string& name, int instances, Completion completion) {
  return {.name = name, .instances = instances, .command = "train", .completion = completion};
}

JobSpec SpecFor(Random& random) {
  JobSpec spec{.name = "simulated", .framework = FrameworkKind::kStandalone};
  if (random.Chance(300)) spec.roles.push_back(Role("ps", 1, Completion::kUntracked));
  if (random.Chance(200)) spec.roles.push_back(Role("sidecar", 1, Completion::kSidecar));
  spec.roles.push_back(Role("worker", static_cast<int>(random.Between(1, 3)), Completion::kTracked));
  if (random.Chance(100)) spec.registration_timeout = random.Between(Duration(2'000), Duration(30'000));
  if (random.Chance(100)) spec.timeout = random.Between(Duration(5'000), Duration(60'000));
  if (random.Chance(150)) spec.timers.orphan_timeout = random.Between(Duration(20'000), Duration(60'000));
  return spec;
}

Duration LongestRun(Random& random, bool waited_for) {
  if (random.Chance(100)) return Duration(10);
  return Duration(waited_for && random.Chance(800) ? 40'000 : 200'000);
}

ProcessPlan ProcessFor(Random& random, bool waited_for) {
  ProcessPlan process;
  process.cannot_start = random.Chance(40);
  const bool starts_slowly = random.Chance(process.cannot_start ? 500 : 50);
  process.start = random.Between(Duration(0), Duration(starts_slowly ? 15'000 : 10));
  process.run = random.Between(Duration(0), LongestRun(random, waited_for));
  if (random.Chance(80)) process.exit_code = static_cast<int>(random.Between(1, 255));
  if (random.Chance(150)) {
    process.obeys_term.reset();
  } else {
    process.obeys_term = random.Between(Duration(0), Duration(random.Chance(200) ? 12'000 : 100));
  }
  process.leaves_children = random.Chance(150);
  return process;
}

TaskPlan TaskFor(Random& random, Completion completion) {
  TaskPlan task;
  task.grant =
      random.Chance(80) ? random.Between(Duration(0), Duration(40'000)) : random.Between(Duration(0), Duration(20));
  task.launch = random.Between(Duration(1), Duration(random.Chance(50) ? 5'000 : 50));
  task.launch_fails = random.Chance(15);
  task.granted_twice = random.Chance(50);
  task.process = ProcessFor(random, completion == Completion::kTracked);
  return task;
}

NetworkPlan NetworkFor(Random& random) {
  NetworkPlan network;
  network.longest = Duration(random.Chance(200) ? 400 : 5);
  network.loss = random.Chance(500) ? static_cast<int>(random.Between(1, 40)) : 0;
  network.duplicates = random.Chance(300) ? static_cast<int>(random.Between(1, 100)) : 0;
  network.reorders = random.Chance(100);
  return network;
}

AmPlan AmFor(Random& random, const Timers& timers) {
  AmPlan am;
  am.crashes_per_mille = random.Chance(600) ? static_cast<int>(random.Between(1, 60)) : 0;
  if (random.Chance(100))
    am.longest_start = timers.orphan_timeout < Duration(100'000) ? Duration(90'000) : Duration(50'000);
  if (random.Chance(200)) am.longest_write = Duration(300);
  return am;
}

Fault FaultFor(Random& random, const TaskId& task) {
  const Duration length = random.Between(Duration(50), Duration(random.Chance(500) ? 5'000 : 90'000));
  switch (random.Between(0, 10)) {
    case 0:
    case 1:
      return CrashAm{};
    case 2:
      return FreezeAm{std::min(length, Duration(40'000))};
    case 3:
      return KillExecutor{task};
    case 4:
      return TermExecutor{task};
    case 5:
    case 6:
      return CutNetwork{task, length, random.Chance(300)};
    case 7:
      return LoseKeeper{length};
    case 8:
      // More than the margin between cutoff_after + grace and lost_after: its process outlives its being given up.
      return StallExecutor{task, std::min(length, Duration(10'000))};
    default:
      return AskKill{random.Chance(500) ? Duration(-1) : random.Between(Duration(0), Duration(15'000))};
  }
}

}  // namespace

std::vector<TaskId> TasksOf(const JobSpec& spec) {
  std::vector<TaskId> tasks;
  for (const RoleSpec& role : spec.roles) {
    for (int index = 0; index < role.instances; ++index) tasks.push_back({role.name, index});
  }
  return tasks;
}

Plan PlanFor(uint64_t seed) {
  Random random(seed);
  Plan plan{.seed = random.Next(), .spec = SpecFor(random), .faults_end = kFaultsEnd};
  const std::vector<TaskId> tasks = TasksOf(plan.spec);
  for (const TaskId& task : tasks) plan.tasks[task] = TaskFor(random, plan.spec.FindRole(task.role)->completion);
  plan.network = NetworkFor(random);
  plan.am = AmFor(random, plan.spec.timers);
  for (int64_t left = random.Between(0, 4); left > 0; --left) {
    const TaskId& task = tasks[static_cast<size_t>(random.Between(0, static_cast<int64_t>(tasks.size()) - 1))];
    plan.faults.push_back(
        {random.Between(Duration(0), Duration(random.Chance(300) ? 1'000 : 50'000)), FaultFor(random, task)});
  }
  return plan;
}

Plan QuietPlan(int workers) {
  Plan plan;
  plan.spec = {.name = "simulated",
               .framework = FrameworkKind::kStandalone,
               .roles = {Role("worker", workers, Completion::kTracked)}};
  for (const TaskId& task : TasksOf(plan.spec)) plan.tasks[task] = {};
  return plan;
}

// Generous: it is there to find jobs that never end. One thing after the other may take as long as it may.
Duration Plan::Limit() const {
  Duration longest_run{0};
  for (const auto& [task, plan] : tasks) {
    if (spec.FindRole(task.role)->completion == Completion::kTracked) {
      longest_run = std::max(longest_run, plan.grant + plan.launch + plan.process.start + plan.process.run);
    }
  }
  Duration longest_fault{0};
  for (const TimedFault& fault : faults) longest_fault = std::max(longest_fault, fault.at + Duration(90'000));
  const Timers& timers = spec.timers;
  return std::max(faults_end, longest_fault) + longest_run + am.longest_start + timers.lost_after +
         timers.cutoff_after + 3 * timers.grace + Duration(60'000);
}

}  // namespace tony::sim
