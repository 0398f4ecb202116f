// Identifiers of jobs, containers, tasks and attempts. Each has a type of its own, and the same text form in logs, on
// the wire, in file names and in commands.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/result.h"

namespace tony {

// A string type that cannot be mixed up with other kinds of strings.
template <class Tag>
struct NamedId {
  std::string value;
  auto operator<=>(const NamedId&) const = default;
};
using JobId = NamedId<struct JobIdTag>;  // e.g. "local-20261121-093015-4f2a9c"
// The scheduler chooses the name of a container. The name is opaque, and unique within a job.
using ContainerId = NamedId<struct ContainerIdTag>;

template <class Tag>
struct NumberedId {
  int64_t value = 0;
  auto operator<=>(const NumberedId&) const = default;
  NumberedId Next() const { return {value + 1}; }
};
// The number of times the gang has formed; 0 until it forms for the first time.
using Generation = NumberedId<struct GenerationTag>;
// The number of the AM's incarnation: 1, 2, ...
using Epoch = NumberedId<struct EpochTag>;

// A task is one member of a role, e.g. "worker:3".
struct TaskId {
  std::string role;
  int index = 0;
  auto operator<=>(const TaskId&) const = default;
};

// The largest number of processes of one task. They are numbered from 0; most tasks have only process 0.
constexpr int kMostProcesses = 64;

// An attempt is one try at running a task, e.g. "worker:3#2". Its number starts at 1 and is never reused.
struct AttemptId {
  TaskId task;
  int number = 0;
  auto operator<=>(const AttemptId&) const = default;
};

std::string ToString(const TaskId& id);
std::string ToString(const AttemptId& id);
// Returns the name of a task's folder, e.g. "worker-3". The name has no colon, because the folder may be part of a
// PATH.
std::string FolderName(const TaskId& id);
// Returns the file name for one process of a task. For example, "stdout" stays "stdout" for process 0 and becomes
// "stdout-1" for process 1.
std::string NameForProcess(std::string_view name, int process);
Result<TaskId> ParseTaskId(std::string_view text);

}  // namespace tony
