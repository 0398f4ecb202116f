// Runs a whole job from acceptance to its end in a GangWorld. The masters die where the test wants it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/am/gang_world.h"

namespace tony::am {

class GangRun {
 public:
  // The master dies as soon as the journal holds `decisions`. Its later decisions are lost.
  struct Death {
    size_t decisions = 0;
    // true: the whole turn was journalled and its actions were performed; false: none of the turn's actions were
    // performed.
    bool after_acting = false;
  };
  struct Script {
    JobSpec spec;
    GangPlan plan;
    uint32_t seed = 1;
    std::vector<Death> deaths;  // in order of `decisions`
    // A person kills the job when the job is first in this state.
    std::optional<JobState> kill_in = {};
    // Called after every turn, with the time.
    std::function<void(const Job&, Instant)> look = nullptr;
  };
  explicit GangRun(Script script);

  // Runs until the job has ended; gives up after a number of turns that no job needs.
  void ToTheEnd();

  const Job& job() const { return *job_; }
  const GangWorld& world() const { return world_; }
  const std::vector<Decision>& journal() const { return journal_; }
  Instant now() const { return now_; }
  std::unique_ptr<Job> Replayed() const;
  // Returns the orders of each new master's first turn, in order.
  const std::vector<Actions>& ordered_again() const { return ordered_again_; }

 private:
  void BeginMaster();
  void Observe(const Observation& observation);
  bool DiesNow() const;
  void Die();
  void PassTime();

  Script script_;
  GangWorld world_;
  std::vector<Decision> journal_;
  std::unique_ptr<Job> job_;  // declared after `journal_`, its source
  std::vector<Actions> ordered_again_;
  Instant now_ = Instant(Duration(1'700'000'000'000));
  Epoch epoch_;
  // True once the kill request is in the job folder.
  bool killed_ = false;
};

}  // namespace tony::am
