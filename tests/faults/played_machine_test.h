// Helpers for tests on a simulated machine.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/faults/played_machine.h"

namespace tony {

class PlayedMachineTest : public testing::Test {
 protected:
  // Calls `fn` before the n-th operation `what` of the machine.
  void At(const std::string& what, int nth, const std::function<void()>& fn) {
    machine_.before = [what, left = nth, fn](const std::string& now) mutable {
      if (now == what && --left == 0) fn();
    };
  }
  std::vector<pid_t> Signalled() const {
    std::vector<pid_t> pids;
    for (const PlayedSignal& sent : machine_.signals) pids.push_back(sent.pid);
    return pids;
  }

  PlayedMachine machine_;
};

}  // namespace tony
