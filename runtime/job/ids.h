// Names of things, each its own type. Their text forms are the same in logs, wire format, files and commands.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/result.h"

namespace tony {

// A string that is not interchangeable with other strings.
template <class Tag>
struct NamedId {
  std::string value;
  auto operator<=>(const NamedId&) const = default;
};
using JobId = NamedId<struct JobIdTag>;              // "local-20261121-093015-4f2a9c"
using ContainerId = NamedId<struct ContainerIdTag>;  // opaque, the scheduler's; unique within a job

template <class Tag>
struct NumberedId {
  int64_t value = 0;
  auto operator<=>(const NumberedId&) const = default;
  NumberedId Next() const { return {value + 1}; }
};
using Generation = NumberedId<struct GenerationTag>;  // 0: the gang has not formed yet
using Epoch = NumberedId<struct EpochTag>;            // 1, 2, ...: which incarnation of the AM

// A member of a role: "worker:3".
struct TaskId {
  std::string role;
  int index = 0;
  auto operator<=>(const TaskId&) const = default;
};

// The processes of a task are counted from 0; most tasks have no other.
constexpr int kMostProcesses = 64;

// One try at running a task: "worker:3#2". Numbers start at 1 and never repeat.
struct AttemptId {
  TaskId task;
  int number = 0;
  auto operator<=>(const AttemptId&) const = default;
};

std::string ToString(const TaskId& id);
std::string ToString(const AttemptId& id);
std::string FolderName(const TaskId& id);  // "worker-3": no colon, so that it may stand in a PATH
std::string OfProcess(std::string_view name,
                      int process);  // "stdout" of a task's first process, "stdout-1" of the next
Result<TaskId> ParseTaskId(std::string_view text);

}  // namespace tony
