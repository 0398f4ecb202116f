// State that all parts of one run share.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "executor/lease_sight.h"
#include "runtime/base/time.h"
#include "runtime/job/checkpoint.h"
#include "runtime/job/outcome.h"
#include "tests/sim/coverage.h"
#include "tests/sim/history.h"
#include "tests/sim/plan.h"
#include "tests/sim/random.h"
#include "tests/sim/timeline.h"

namespace tony::sim {

inline const JobId kJob{"simulated-job"};

// The job's folder and the user's folder of checkpoints.
struct Disk {
  std::string journal;
  std::optional<executor::SeenLease> lease;
  std::optional<Duration> kill_request;  // its grace period
  // Each stays until an AM has decided on it.
  std::map<int, KillRequest> conditional_kills;
  int last_kill = 0;
  std::map<AttemptId, Outcome> outcomes;
  std::optional<Verdict> status;
  bool finished = false;  // as the keeper notes it
  // The newest AM's, as the keeper notes it.
  Epoch epoch;
  // The AM that opened the journal last. The journal and the records are sealed for earlier AMs.
  Epoch journal_epoch;
  std::vector<Checkpoint> checkpoints;

  std::optional<KeptClock> clock;

  Instant full_until{}, lease_locked_until{};
  bool sync_fails = false;  // the next sync fails
};

struct Stage {
  Stage(const Plan& the_plan, bool with_trace, std::ostream* echo)
      : plan(the_plan), history(with_trace, echo), random(the_plan.seed) {
    disk.checkpoints = plan.of_others;
    for (const Checkpoint& there : plan.of_others) Add(CheckpointThere{there});
    history.bounds = {plan.clocks.most_drift, plan.clocks.most_offset, plan.LongestOverlap(), plan.FaultsAreOver(),
                      plan.LongestEnd()};
    history.bounds.two_ams = std::ranges::any_of(
        plan.faults, [](const TimedFault& fault) { return std::holds_alternative<DoubleAm>(fault.fault); });
    // Two answers of a shared store are at most this far apart.
    if (plan.shared_store) history.bounds.late_read = plan.spec.timers.record_fresh;
  }

  const Plan plan;
  Timeline time;
  History history;
  Coverage coverage;
  Disk disk;
  Random random;

  bool MayFail() const { return time.age() < plan.faults_end; }
  void Add(Event event) { history.Add(time.now(), std::move(event)); }
  void Note(const std::string& text) { history.Note(time.now(), text); }
  // Returns the clock of a process that begins now.
  OwnClock MakeClock() {
    const ClockPlan& clocks = plan.clocks;
    const Duration offset = random.Between(-clocks.most_offset, clocks.most_offset);
    return {time.now(), offset, random.Between(-clocks.most_drift, clocks.most_drift)};
  }
  Duration WallAhead() const {
    Duration ahead{0};
    // the first AM's time is the job's
    if (!disk.clock) return ahead;
    for (const WallStep& step : plan.clocks.steps)
      if (step.at <= time.age()) ahead += step.by;
    return ahead;
  }
};

// Decides where the AM crashes: after any of its steps, counted over all its incarnations.
class CrashPlan {
 public:
  explicit CrashPlan(Stage& stage) : stage_(stage), random_(stage.random.Fork()) {}

  // Counts one step, and returns true if the AM crashes after it.
  bool CrashesNow() {
    ++step_;
    if (!MayCrash()) return false;
    const AmPlan& plan = stage_.plan.am;
    const bool planned = std::ranges::count(plan.crash_at_steps, step_) > 0;
    const bool by_chance = stage_.MayFail() && random_.Chance(plan.crashes_per_mille);
    if (planned || by_chance) Count();
    return planned || by_chance;
  }
  // Returns how many bytes a crash leaves of a batch that was being written.
  size_t LeftOf(size_t bytes) {
    const auto by_chance = static_cast<size_t>(random_.Between(0, static_cast<int64_t>(bytes)));
    return std::min(bytes, stage_.plan.am.torn_to.value_or(by_chance));
  }
  bool MayCrash() const { return crashes_ < stage_.plan.am.most_crashes; }
  void Count() { ++crashes_; }

  int64_t steps() const { return step_; }
  void AddWrite(size_t bytes) { writes_[step_] = bytes; }
  // Bytes written, keyed by the step that wrote them.
  const std::map<int64_t, size_t>& writes() const { return writes_; }

 private:
  Stage& stage_;
  Random random_;
  int64_t step_ = 0;
  int crashes_ = 0;
  std::map<int64_t, size_t> writes_;
};

}  // namespace tony::sim
