// What the processes of a task will be started with, as far as it is known before there is a job: for `tony plan`.
#pragma once

#include <string>
#include <vector>

#include "runtime/job/ids.h"
#include "runtime/job/job_spec.h"

namespace tony {

// Where the tasks will run.
struct PlannedNode {
  std::string host;                      // "<host>" where it is not known
  std::vector<std::string> environment;  // what executors inherit there, "NAME=value"
  bool is_here = false;                  // so that programs can be looked for
};

struct PlannedProcess {
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // "NAME=value", sorted by name
};

struct PlannedTask {
  std::string directory;
  std::vector<PlannedProcess> processes;  // of the first attempt
};

// What is not known stands as "<job>", "<container>", "<folder>" (the job's on that node) and "<gpus>", what others
// publish as "<READY>" and "<MODEL_PARAMS>", ports as 0. The
// task is one of the spec's. `secrets`: "NAME=value".
PlannedTask PlanTask(const JobSpec& spec, const TaskId& task, const PlannedNode& node,
                     const std::vector<std::string>& secrets);

}  // namespace tony
