// The world around one AM, without processes: a scheduler, executors with their tasks, and a clock. They behave as the
// real ones do, and a seed decides what happens next. Tests use it to run whole jobs with masters that die.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "am/core/job.h"

namespace tony::am {

struct GangPlan {
  // How tasks end by themselves. A task without an entry runs until it is stopped.
  std::map<TaskId, Outcome> ends = {};
  // Outcomes of single attempts. They replace the task's entry in `ends`.
  std::map<AttemptId, Outcome> attempt_ends = {};
  // Executors of these attempts send nothing once their task runs, and ignore all commands except KILL.
  std::set<AttemptId> frozen = {};
  // The scheduler gives notice of preemption once these attempts run.
  std::set<AttemptId> preempted = {};
  // This many checkpoint searches find a newer checkpoint.
  int checkpoints = 0;
};

class GangWorld {
 public:
  GangWorld(JobId job, GangPlan plan, uint32_t seed) : job_(std::move(job)), plan_(std::move(plan)), random_(seed) {}

  // ---- calls from the shell of an AM
  void Perform(const Actions& actions);
  // Returns an event that can happen now, given the state of `job`; nullopt if only the passing of time can cause
  // events.
  std::optional<Observation> Next(const Job& job);
  // Called when the turn of an observation is on the disk and has been answered.
  void Answer(const Job& job, const Observation& observation, const std::optional<Refusal>& refusal);
  // Returns a heartbeat of each executor that is alive and not frozen.
  std::vector<HeartbeatCall> Heartbeats(const Job& job) const;
  // Grants that were not reported become void, executors lose their master, and the scheduler reports all ends again.
  void MasterDied();
  std::vector<ContainerId> Running() const;

  bool job_ended() const { return job_ended_; }
  // True if an executor's newest command ever had a lower number than a command that the executor had already obeyed.
  bool took_back_a_command() const { return took_back_; }
  int64_t Uniform(int64_t below) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(below)); }

 private:
  enum class State { kWaiting, kRunning, kEnded, kGone };
  struct Executor {
    AttemptId attempt;
    State state = State::kWaiting;
    std::optional<Outcome> outcome;  // kept on the executor's disk
    int64_t since = 0;               // number of the newest command received
    Generation generation;
    // The master with which the executor is registered.
    Epoch master;
    bool start_told = false, run_told = false, published = false, report_acknowledged = false, exit_told = false;
    bool notice_given = false;  // notice of preemption was given
  };
  static void Begin(Executor& executor, int attempt);
  const Outcome* EndOf(const AttemptId& attempt) const;  // null: runs until it is stopped
  Observation Look(int restart) const;
  void AddScheduler(const ContainerId& id, const Executor& executor, std::vector<Observation>& choices) const;
  void Stop(const ContainerId& id, StopMode mode);
  void ExecuteCommand(Executor& executor, const Command& command);
  void AddScheduler(std::vector<Observation>& choices) const;
  void AddExecutor(const Job& job, const ContainerId& id, const Executor& executor,
                   std::vector<Observation>& choices) const;
  bool EndSomeTask();
  bool IsSilent(const Executor& executor) const;
  Caller CallerOf(const ContainerId& id, const Executor& executor) const;
  static void Refuse(Executor& executor, RefusalReason reason);

  const JobId job_;
  const GangPlan plan_;
  std::mt19937 random_;
  std::map<AttemptId, ContainerId> asks_;  // requests with their future containers
  std::map<ContainerId, Executor> executors_;
  // A listing of the existing checkpoints was ordered.
  bool lists_ = false;
  // Checkpoint searches that were ordered, by restart.
  std::set<int> looks_;
  int looked_ = 0;
  int granted_ = 0;
  bool job_ended_ = false;
  bool took_back_ = false;
};

}  // namespace tony::am
