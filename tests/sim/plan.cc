#include "tests/sim/plan.h"

#include <algorithm>

#include "tests/sim/job_rules.h"
#include "tests/sim/timeline.h"

namespace tony::sim {
namespace {

// far above the budgets of any plan
constexpr int kMostRestarts = 30;

Duration LongestOf(const ProcessPlan& process) {
  Duration run = process.run;
  for (const ProcessPlan& other : process.beside) run = std::max(run, other.run);
  return process.start + run;
}

Duration LongestOf(const TaskPlan& task) {
  Duration run = LongestOf(task.process);
  for (const ProcessPlan& process : task.earlier) run = std::max(run, LongestOf(process));
  return task.grant + task.launch + run;
}

}  // namespace

const ProcessPlan& TaskPlan::ProcessOf(int attempt) const {
  const auto index = static_cast<size_t>(std::max(attempt, 1) - 1);
  return index < earlier.size() ? earlier[index] : process;
}

std::vector<TaskId> TasksOf(const JobSpec& spec) {
  std::vector<TaskId> tasks;
  for (const RoleSpec& role : spec.roles) {
    for (int index = 0; index < role.instances; ++index) tasks.push_back({role.name, index});
  }
  return tasks;
}

Plan QuietPlan(int workers) {
  Plan plan;
  plan.spec = {.name = "simulated",
               .framework = FrameworkKind::kStandalone,
               .roles = {{.name = "worker", .instances = workers, .command = "train"}}};
  plan.spec.restart.settle = Duration(0);
  for (const TaskId& task : TasksOf(plan.spec)) plan.tasks[task] = {};
  return plan;
}

// The limit is generous because it only finds jobs that never end. Waits that follow each other add up.
Duration Plan::Limit() const {
  // a later key waits for all earlier ones
  std::map<std::pair<int, int>, Duration> longest_runs;
  for (const auto& [task, plan] : tasks) {
    const bool is_tracked = spec.FindRole(task.role)->completion == Completion::kTracked;
    if (!is_tracked && !MustPublish(spec, task.role)) continue;
    const int stage = StageRule(spec, task.role) + (WaitsForReady(spec, task.role) ? 1 : 0);
    Duration& longest = longest_runs[{WaveRule(spec, task.role), stage}];
    longest = std::max(longest, LongestOf(plan));
  }
  Duration longest_run{0};
  for (const auto& [stage, longest] : longest_runs) longest_run += longest;
  const Timers& timers = spec.timers;
  const bool doubts = std::ranges::any_of(
      faults, [](const TimedFault& fault) { return std::holds_alternative<DoubtEnd>(fault.fault); });
  const Duration once =
      longest_run + (doubts ? 2 : 1) * timers.lost_after + 3 * timers.grace + spec.restart.longest_backoff;
  return (FaultsAreOver() - Timeline::kStart) + kMostRestarts * once + am.longest_start + timers.cutoff_after +
         Duration(60'000);
}

Instant Plan::FaultsAreOver() const {
  Duration longest = faults_end;
  for (const TimedFault& fault : faults) longest = std::max(longest, fault.at + Duration(90'000));
  return Timeline::kStart + longest;
}

// The sum allows for the task's grace period, an executor that does not answer and the confirmation of its end, an AM
// that hangs, and the start of the next AM.
Duration Plan::LongestEnd() const {
  return spec.timers.grace + 2 * spec.timers.lost_after + am.longest_start + 2 * scheduler.slowest_stop +
         Duration(60'000);
}

Duration Plan::LongestOverlap() const {
  Duration longest{0};
  for (const TimedFault& fault : faults) {
    if (const auto* lie = std::get_if<LieAboutEnd>(&fault.fault))
      longest = std::max(longest, lie->overlap + Duration(1));
    // The doubted executor may be the last process to learn that the job has ended. It never runs beside another
    // executor of its task.
    if (std::holds_alternative<DoubtEnd>(fault.fault)) longest = std::max(longest, Duration(1));
  }
  return longest;
}

}  // namespace tony::sim
