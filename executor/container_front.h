// A container elsewhere, made to look like a job's folder on this machine, so that all else in an executor is the same
// in both.
//
//   PWD/.tony-job/         0700: what JobRecords reads here: spec.json, token, secrets, staged.json, am.lease
//     work/worker-3/2/     the task's folder, as everywhere
//     logs/worker-3     -> LOGS/attempts
//   LOGS/attempts/1     -> ..      the first attempt of this container writes where the node's pages look
//   LOGS/attempts/2/     of a later one the pages show nothing
//
// am.lease is where the master was when it started this container. Who finds a newer master replaces it there. Between
// two of them it says nothing of whether the master lives: an executor that loses it is the one cut off.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "runtime/base/result.h"
#include "runtime/job/ids.h"
#include "runtime/records/job_records.h"
#include "runtime/yarn/container_launch.h"

namespace tony::executor {

struct ContainerPlace {
  JobRecords records;
  AttemptId attempt;
  ContainerId container;
  std::string host;  // this node, as the job's other tasks reach it
  TlsIdentity tls;
};

// By this process's working folder, $HADOOP_TOKEN_FILE_LOCATION, $CONTAINER_ID and $NM_HOST, as a NodeManager sets
// them; `logs` is the container's log folder. May be repeated in the same container. kUsage: this is no container.
// kInvalid: what was to be told is not there, or damaged. kCannotWrite.
Result<ContainerPlace> LayContainerFolder(const std::filesystem::path& logs);

// What stands between the NodeManager and an executor in a container, so that no single death leaves a task behind:
// tasks are in sessions of their own, where nobody else would find them.
//
//   NodeManager --TERM, 250 ms later KILL, to its group--> front -- guard, in another session -- executor -- tasks
//
//   the executor ends, or is killed   the guard is the nearest subreaper above the tasks: it ends what is left of them
//   the guard is killed               the executor is told by the kernel, and the front ends what is left of both
//   the front is killed               the guard is told by the kernel. The NodeManager's KILL does not reach it: it has
//                                     the time it needs
//   somebody is told to end (TERM)    tells the next one and wakes it, if it was stopped. The guard kills an executor
//                                     that does not end

inline bool IsInContainer(std::string_view argument) { return argument == "--container"; }

// Returns in the executor, a grandchild of this process. This process and the one between them wait for its end, leave
// nothing below themselves, and end with its exit code, or with 128 and its signal. Before any thread is started.
void LeaveFrontBehind();

}  // namespace tony::executor
