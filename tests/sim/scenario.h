// For tests that run plans written by hand.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/sim/world.h"

namespace tony::sim {

inline const TaskId kWorker0{"worker", 0};
inline const TaskId kWorker1{"worker", 1};
inline const TaskId kWorker2{"worker", 2};

// Workers that run for `run`.
Plan WorkersFor(int workers, Duration run);
// The same, as one PyTorch gang: when one fails, all start again, as often as a level allows it.
Plan GangFor(int workers, Duration run, int restarts);

template <class T>
std::vector<T> All(const History& history) {
  std::vector<T> all;
  for (const Seen& seen : history.events()) {
    if (const auto* event = std::get_if<T>(&seen.event)) all.push_back(*event);
  }
  return all;
}

template <class T>
int Count(const History& history) {
  return static_cast<int>(All<T>(history).size());
}

// The history is right; otherwise the trace says what happened.
testing::AssertionResult IsRight(const Plan& plan, const World& world);
void ExpectVerdict(const World& world, FinalState state, OutcomeClass cls);
// Runs `plan` once for every step of its AM, with a crash there.
void CrashAtEveryStep(Plan plan, FinalState state, OutcomeClass cls);

// The decisions of the journal as it is at the end.
std::vector<Decision> DecisionsOf(const History& history);

template <class T>
std::vector<T> Decided(const History& history) {
  std::vector<T> all;
  for (const Decision& decision : DecisionsOf(history)) {
    if (const auto* body = std::get_if<T>(&decision.body)) all.push_back(*body);
  }
  return all;
}

}  // namespace tony::sim
