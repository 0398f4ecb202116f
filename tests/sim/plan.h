// What happens in one run beside what the programs do themselves: the job, how its processes behave, and the faults.
// Made from a seed, or written by hand for a scenario.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <variant>
#include <vector>

#include "runtime/base/time.h"
#include "runtime/job/job_spec.h"

namespace tony::sim {

// The user's process of one task.
struct ProcessPlan {
  Duration start{2};  // how long it takes to start it
  bool cannot_start = false;
  Duration run{10'000};  // how long it runs if nobody stops it
  int exit_code = 0;
  std::optional<Duration> obeys_term = Duration(50);  // nothing: only SIGKILL ends it
  bool leaves_children = false;                       // they outlive it and ignore SIGTERM
};

struct TaskPlan {
  Duration grant{1};    // from the ask to the container
  Duration launch{20};  // from the order to the executor's first step
  bool launch_fails = false;
  bool granted_twice = false;
  ProcessPlan process;
};

struct NetworkPlan {
  Duration shortest{0};
  Duration longest{5};
  int loss = 0;           // per mille of the messages: the connection breaks
  int duplicates = 0;     // per mille of the requests arrive twice
  bool reorders = false;  // also within a connection, which TCP does not
};

struct AmPlan {
  Duration shortest_start{5};  // from its process to its rule
  Duration longest_start{50};
  Duration longest_write{3};            // of a batch to the journal
  std::vector<int64_t> crash_at_steps;  // counted over the whole run, from 1
  int crashes_per_mille = 0;            // of its steps, while there are faults
  int most_crashes = 4;                 // by these two and by CrashAm
  std::optional<size_t> torn_to;        // what a crash leaves of a batch being written; nothing: left to chance
};

// ---- faults at a time
struct CrashAm {};
struct FreezeAm {
  Duration length{0};
};
struct LoseKeeper {  // the AM does not reach its arbiter
  Duration length{0};
};
struct KillExecutor {
  TaskId task;
};
struct TermExecutor {
  TaskId task;
};
struct StallExecutor {  // its process; the task's runs on
  TaskId task;
  Duration length{0};
};
struct CutNetwork {
  TaskId task;
  Duration length{0};
  bool store_too = false;
};
struct AskKill {
  Duration grace{-1};
};
using Fault =
    std::variant<CrashAm, FreezeAm, LoseKeeper, KillExecutor, TermExecutor, StallExecutor, CutNetwork, AskKill>;
struct TimedFault {
  Duration at{0};  // since the start of the run
  Fault fault;
};

struct Plan {
  uint64_t seed = 0;  // of all that is left to chance during the run
  JobSpec spec;
  std::map<TaskId, TaskPlan> tasks;
  NetworkPlan network;
  AmPlan am;
  std::vector<TimedFault> faults;
  Duration faults_end{0};  // nothing goes wrong by chance after it

  Duration Limit() const;  // the job must have ended by then
};

std::vector<TaskId> TasksOf(const JobSpec& spec);
Plan PlanFor(uint64_t seed);
// Tracked workers that run for ten seconds on a machine without faults.
Plan QuietPlan(int workers);

}  // namespace tony::sim
