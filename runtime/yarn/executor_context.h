// Quotes texts for a launch context, so that they reach the process unchanged. A NodeManager writes them into a shell
// script:
//
//   export NAME="value"
//   exec /bin/bash -c "command"
//
// Before that, the NodeManager replaces {{NAME}} with $NAME, <LOG_DIR> with the log folder, and <CPS> with a colon. The
// shell interprets a backslash, $, " and ` in both lines, and a command is read by two shells. Pure.
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

// Quotes the value of a variable, which must not contain NUL.
std::string QuoteValue(std::string_view value);

// Quotes one argument of a command and encloses it in quotes. The argument must not contain NUL.
std::string QuoteArgument(std::string_view argument);

// Makes the launch contexts with which NodeManagers start the containers of a job. Values; pure functions.
//
// A container gets only those of the job's variables that control the NodeManager (YARN_CONTAINER_RUNTIME_...), because
// its environment is shown to everybody. Tasks get their variables from the spec, which comes with the credentials. The
// submitter's environment is not sent.

// Inputs that all executors of a job have in common.
struct ExecutorInputs {
  JobId job;
  JobSpec spec;
  JobSecrets secrets;  // includes the executors' TLS identity
  // The record has the numeric address of the AM, because a static executor cannot resolve names.
  LeaseRecord lease;
  LeasePlace lease_place;
  StagedFiles staged;
  // Must contain kExecutorFile, the entries of `staged`, and kSpecFile if the spec is large.
  HdfsFiles files;
  // Variables that the container gets in addition to ours, such as HADOOP_USER_NAME.
  std::map<std::string, std::string> environment;
  // Credentials that tasks may use. The AM's own token is never among them.
  hadoop::Credentials credentials;
};
// Returns the variables with which a NodeManager runs a container of the job in this image: those of Hadoop's page
// "Launching Applications Using Docker Containers" that TonY set, and those of `container_env`, e.g.
// YARN_CONTAINER_RUNTIME_DOCKER_CONTAINER_NETWORK. Empty image: only the latter. They are not quoted, because the
// NodeManager itself reads them.
std::map<std::string, std::string> RuntimeVariables(const JobSpec& spec, const std::string& image);

// Returns the context of an executor. kInternal: a needed file is not in `files`. kInvalid: the spec is larger than
// kLargestSpecInLaunch, and is not in `files`.
Result<hadoop::LaunchContext> MakeExecutorContext(const ExecutorInputs& job, const ExecutorLaunch& launch);

struct AmInputs {
  JobId job;
  std::string program;                 // name in the bundle: "tony-yarn-am"
  std::vector<std::string> arguments;  // visible to everybody
  JobSecrets secrets;
  TlsIdentity executors_tls;
  std::shared_ptr<const HttpTrust> https_trust = nullptr;  // YarnCluster::trust
  std::string keytab = {};                                 // MasterLaunch::keytab
  // The entries of StagedFiles::am. The AM's folder has links to these entries, by their names.
  std::vector<StagedEntry> staged;
  // Must contain kMasterFolder, which is the bundle of the AM's program, and the entries of `staged`.
  HdfsFiles files;
  // The result of RuntimeVariables().
  std::map<std::string, std::string> runtime = {};
  // Variables that the container gets in addition to ours. They are visible to everybody.
  std::map<std::string, std::string> environment;
  hadoop::Credentials credentials;
};
Result<hadoop::LaunchContext> MakeMasterContext(const AmInputs& job);
// Copies the ACLs of the spec. A node applies the ACLs of the job's first container that it receives.
void SetAcls(const YarnSpec& spec, hadoop::LaunchContext& context);

}  // namespace tony
