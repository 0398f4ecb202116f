// What all parts of one run share.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "executor/lease_sight.h"
#include "runtime/job/outcome.h"
#include "tests/sim/coverage.h"
#include "tests/sim/history.h"
#include "tests/sim/plan.h"
#include "tests/sim/random.h"
#include "tests/sim/timeline.h"

namespace tony::sim {

inline const JobId kJob{"simulated-job"};

// The job's folder.
struct Disk {
  std::string journal;
  std::optional<executor::SeenLease> lease;
  std::optional<Duration> kill_request;  // its grace
  std::map<AttemptId, Outcome> outcomes;
  std::optional<Verdict> status;
};

struct Stage {
  Stage(const Plan& the_plan, bool with_trace) : plan(the_plan), history(with_trace), random(the_plan.seed) {}

  const Plan plan;
  Timeline time;
  History history;
  Coverage coverage;
  Disk disk;
  Random random;

  bool MayFail() const { return time.age() < plan.faults_end; }
  void Add(Event event) { history.Add(time.now(), std::move(event)); }
  void Note(const std::string& text) { history.Note(time.now(), text); }
};

}  // namespace tony::sim
