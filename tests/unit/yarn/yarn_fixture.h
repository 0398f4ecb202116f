// Helpers for tests of the YARN scheduler.
#pragma once

#include <string>

#include "runtime/backend/scheduler.h"
#include "runtime/hadoop/yarn_records.h"

namespace tony {

inline constexpr hadoop::AttemptId kMaster{{1700000000000, 1}, 1};
// Container number 1 is the master's own.
inline hadoop::ContainerId YarnId(int64_t number) { return {kMaster, number}; }

inline AttemptId Attempt(int index, const std::string& role = "worker", int number = 1) {
  return {{role, index}, number};
}
inline ContainerRequest AskFor(const AttemptId& attempt, const Resources& size = {.memory_mb = 256},
                               const std::string& label = "", Placement placement = Placement::kPack) {
  return {attempt, size, label, placement};
}

inline hadoop::NodeReport NodeOf(const std::string& host, int64_t memory_mib, int64_t used_mib = 0) {
  hadoop::NodeReport node{.id = {host, 8041}, .state = hadoop::NodeReport::State::kRunning, .rack = "/rack"};
  node.capability = {memory_mib, 64, {}};
  node.used = {used_mib, 1, {}};
  return node;
}

}  // namespace tony
