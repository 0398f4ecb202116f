// Makes the container on a node look like a job's folder on this machine, so that the rest of the executor is the same
// in both cases.
//
//   PWD/.tony-job/         0700: the files that JobRecords reads: spec.json, token, secrets, staged.json, am.lease
//     work/worker-3/2/     the task's folder, as on a single machine
//     logs/worker-3     -> LOGS/attempts
//   LOGS/attempts/1     -> ..      the container's first attempt writes where the node's pages show logs
//   LOGS/attempts/2/     logs of a later attempt, which the node's pages do not show
//
// am.lease holds the address of the AM that started this container. No process renews the lease here, so the lease does
// not show whether the AM lives. An executor that loses its AM therefore counts as cut off.
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
  // The address by which the job's other tasks reach this node.
  std::string host;
  TlsIdentity tls;
};

// Creates the job's folder from this process's working directory, $HADOOP_TOKEN_FILE_LOCATION, $CONTAINER_ID and
// $NM_HOST, as a NodeManager sets them. `logs` is the container's log folder. May be repeated in the same container.
// kUsage: this process is not in a container. kInvalid: the credentials are incomplete or damaged. kCannotWrite.
Result<ContainerPlace> CreateContainerFolder(const std::filesystem::path& logs);

// Two processes stand between the NodeManager and an executor in a container, so that the death of any one process
// leaves no task behind. Tasks are in sessions of their own, where nothing else would find them.
//
//   NodeManager --TERM, 250 ms later KILL, to its group--> front -- guard, in another session -- executor -- tasks
//
//   the executor ends, or is killed   the guard is the nearest subreaper above the tasks: it ends what is left of them
//   the guard is killed               the kernel signals the executor, and the front ends what is left of both
//   the front is killed               the kernel signals the guard. The NodeManager's KILL does not reach the guard, so
//                                     it has the time that it needs
//   a process receives TERM           passes the signal on to the next one, and wakes it if it was stopped. The guard
//                                     kills an executor that does not end

inline bool IsInContainer(std::string_view argument) { return argument == "--container"; }

// Forks twice, and returns in the executor, a grandchild of this process. This process and the one between them wait
// for the executor's end, leave no processes behind, and end with its exit code, or with 128 plus its signal. Must be
// called before any thread is started.
void ForkFrontAndGuard();

}  // namespace tony::executor
