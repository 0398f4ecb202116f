// Texts of a launch context, whole whatever is in them. A NodeManager writes a shell script of them:
//
//   export NAME="value"
//   exec /bin/bash -c "command"
//
// and puts into both, before that, $NAME for {{NAME}}, the log folder for <LOG_DIR>, and a colon for <CPS>. So a
// backslash, $, " and ` are live in both, and a command is read by two shells. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/hadoop/yarn_records.h"
#include "runtime/job/job_spec.h"
#include "runtime/job/scheduler_events.h"
#include "runtime/yarn/container_launch.h"
#include "runtime/yarn/hdfs_staging.h"

namespace tony {

// The value of a variable: no NUL.
std::string QuoteValue(std::string_view value);

// One argument of a command, with its quotes: no NUL.
std::string QuoteArgument(std::string_view argument);

// How the containers of a job are started: what a NodeManager is told. Values; pure functions.
//
// Of the job's own variables a container has none but those that speak to the NodeManager (YARN_CONTAINER_RUNTIME_...):
// its environment is shown to everybody. Tasks get theirs from the spec, which comes with the credentials. The
// submitter's environment stays where it is.

// What all executors of a job have in common.
struct JobShipment {
  JobId job;
  JobSpec spec;
  JobSecrets secrets;  // with the executors' own TLS
  LeaseRecord lease;   // where the master is: a number, since a static executor resolves no name
  StagedFiles staged;
  HdfsFiles files;  // kExecutorFile, the entries of `staged`, and kSpecFile where the spec is a large one
  std::map<std::string, std::string> environment;  // beside our own: HADOOP_USER_NAME
  hadoop::Credentials credentials;                 // what tasks may use; never the master's own token
};
// kInternal: a file is not among `files`. kInvalid: the spec is larger than kLargestSpecInLaunch, and no file.
Result<hadoop::LaunchContext> MakeExecutorContext(const JobShipment& job, const ExecutorLaunch& launch);

struct MasterShipment {
  JobId job;
  std::string program;                 // in the bundle: "tony-yarn-am"
  std::vector<std::string> arguments;  // everybody may read them
  JobSecrets secrets;
  TlsIdentity executors_tls;
  std::vector<StagedEntry> staged;                 // StagedFiles::am: links in its folder, by their names
  HdfsFiles files;                                 // kMasterFolder, the program's bundle, and those entries
  std::map<std::string, std::string> environment;  // beside our own; everybody may read it
  hadoop::Credentials credentials;
};
Result<hadoop::LaunchContext> MakeMasterContext(const MasterShipment& job);
// A node goes by what the first container of a job has that comes to it.
void SetAcls(const YarnSpec& spec, hadoop::LaunchContext& context);

}  // namespace tony
