// A whole job from acceptance to its end in a GangWorld, with masters that die where the test wants it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/am/gang_world.h"

namespace tony::am {

class GangRun {
 public:
  // When a master dies: as soon as the journal holds `decisions`. What it had decided beyond that is lost.
  struct Death {
    size_t decisions = 0;
    bool after_acting = false;  // the whole turn was journalled and its actions performed; else none of them
  };
  struct Script {
    JobSpec spec;
    GangPlan plan;
    uint32_t seed = 1;
    std::vector<Death> deaths;                                // in order of `decisions`
    std::optional<JobState> kill_in = {};                     // a person kills the job when it is first seen there
    std::function<void(const Job&, Instant)> look = nullptr;  // called after every turn, with the time
  };
  explicit GangRun(Script script);

  void ToTheEnd();  // gives up after a number of turns that no job needs

  const Job& job() const { return *job_; }
  const GangWorld& world() const { return world_; }
  const std::vector<Decision>& journal() const { return journal_; }
  Instant now() const { return now_; }
  std::unique_ptr<Job> Replayed() const;
  // What each new master ordered in its first turn, in order.
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
  std::unique_ptr<Job> job_;  // after the journal that it is replayed from
  std::vector<Actions> ordered_again_;
  Instant now_ = Instant(Duration(1'700'000'000'000));
  Epoch epoch_;
  bool killed_ = false;  // the request lies in the job folder
};

}  // namespace tony::am
