// The world around one AM, without processes: a scheduler, executors with their tasks, and a clock, behaving as the
// real ones do. What happens next is drawn from a seed. For tests that let a whole job run, with masters that die.
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
  std::map<TaskId, Outcome> ends = {};             // how tasks end by themselves; the others run until told to stop
  std::map<AttemptId, Outcome> attempt_ends = {};  // how single attempts do instead
  std::set<AttemptId> frozen = {};     // their executors fall silent once their task runs, and ignore all but KILL
  std::set<AttemptId> preempted = {};  // the scheduler gives notice once they run
  int checkpoints = 0;                 // so many looks for a checkpoint find a newer one
};

class GangWorld {
 public:
  GangWorld(JobId job, GangPlan plan, uint32_t seed) : job_(std::move(job)), plan_(std::move(plan)), random_(seed) {}

  // ---- as the shell of an AM sees it
  void Perform(const Actions& actions);
  // Something that happens now, as far as `job` can see; nothing: only time can bring more.
  std::optional<Observation> Next(const Job& job);
  // The turn of an observation is on the disk and has been answered.
  void Answer(const Job& job, const Observation& observation, const std::optional<Refusal>& refusal);
  std::vector<HeartbeatCall> Heartbeats(const Job& job) const;  // of all who live and are not frozen
  void MasterDied();  // grants not yet told are void; executors have lost it; the scheduler tells all ends again
  std::vector<ContainerId> Running() const;

  bool job_ended() const { return job_ended_; }
  bool took_back_a_command() const { return took_back_; }  // the newest was older than one already obeyed
  int64_t Uniform(int64_t below) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(below)); }

 private:
  enum class State { kWaiting, kRunning, kEnded, kGone };
  struct Executor {
    AttemptId attempt;
    State state = State::kWaiting;
    std::optional<Outcome> outcome;  // kept on its disk
    int64_t since = 0;               // the newest command it knows
    Generation generation;
    Epoch master;  // it is registered there
    bool start_told = false, run_told = false, published = false, report_acknowledged = false, exit_told = false;
    bool notice_given = false;  // of preemption
  };
  static void Begin(Executor& executor, int attempt);
  const Outcome* EndOf(const AttemptId& attempt) const;  // null: it runs until it is told to stop
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
  std::map<AttemptId, ContainerId> asks_;  // what will be granted
  std::map<ContainerId, Executor> executors_;
  bool lists_ = false;   // the checkpoints that are there
  std::set<int> looks_;  // for a checkpoint, by restart
  int looked_ = 0;
  int granted_ = 0;
  bool job_ended_ = false;
  bool took_back_ = false;
};

}  // namespace tony::am
