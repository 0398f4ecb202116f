// Gives a YARN container the folder layout of a job on a single machine. Therefore the rest of the executor works the
// same way in both cases.
//
//   PWD/.tony-job/         0700: the files that JobRecords reads: spec.json, token, secrets, staged.json, am.lease
//     work/worker-3/2/     the task's folder, as on a single machine
//     logs/worker-3     -> LOGS/attempts
//   LOGS/attempts/1     -> ..      the container's first attempt writes where the node's pages show logs
//   LOGS/attempts/2/     files of a later attempt
//     stdout             one file with LOGS/stdout.2 (a hard link), because the node shows, and moves after the end of
//                        the application, only the files directly in LOGS; executor.log is one file for all attempts
//
// am.lease holds the address of the AM that started this container. No process renews the lease here. An executor that
// loses its AM reads the record that AMs renew in HDFS (yarn/lease_reader.h), and so finds the next AM. An executor
// that does not know where that record is counts as cut off, and stops its task.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "runtime/base/result.h"
#include "runtime/job/executor_protocol.h"
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
  // The AM that started this container, and where later AMs record their addresses.
  LeaseRecord lease;
  LeasePlace lease_place;
  // The container's token file, and its ClusterTokens without their bytes; number 0: the file has none.
  std::filesystem::path token_file;
  ClusterTokens tokens = {};
};

// Creates the job's folder in this process's working directory. The contents come from $CONTAINER_ID, from $NM_HOST,
// and from the credentials file that $HADOOP_TOKEN_FILE_LOCATION names. The NodeManager sets these variables. `logs` is
// the container's log folder. The function may be called again in the same container. kUsage: this process is not in a
// container. kInvalid: the credentials are incomplete or damaged. kCannotWrite: a file or folder cannot be created.
Result<ContainerPlace> CreateContainerFolder(const std::filesystem::path& logs);

// Creates the log files of a later attempt in the same container. `folder` is the attempt's own folder. kCannotWrite: a
// file cannot be created, or the file system has no hard links. The attempt can run nevertheless. However, its logs are
// lost with the container's folder.
Status CreateLaterLogs(const AttemptId& later, const std::filesystem::path& folder, const std::filesystem::path& logs,
                       int processes);

// Two processes, the front and the guard, stand between the NodeManager and an executor in a container. The front and
// the guard ensure that the death of any one process leaves no task behind. Tasks have sessions of their own, so a
// signal to the container's process group does not reach them.
//
//   NodeManager --TERM, 250 ms later KILL, to its group--> front -- guard, in another session -- executor -- tasks
//
//   the executor ends, or is killed   the guard, the nearest subreaper above the tasks, kills the remaining ones
//   the guard is killed               the kernel signals the executor, and the front kills what remains of both
//   the front is killed               the kernel signals the guard. The NodeManager's KILL does not reach the guard, so
//                                     the guard has the time that it needs
//   a process receives TERM           the process passes TERM on to the next process, and wakes that process if it was
//                                     stopped. The guard kills an executor that does not end

inline bool IsInContainer(std::string_view argument) { return argument == "--container"; }

// Forks twice. Returns only in the grandchild of this process, which becomes the executor. The two processes above the
// executor wait for the executor's exit, and kill all processes that remain. Then they exit with the executor's exit
// code, or with 128 plus the number of its signal. Must be called before any thread is started.
void ForkFrontAndGuard();

}  // namespace tony::executor
