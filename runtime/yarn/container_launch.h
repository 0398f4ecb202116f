// What a job's processes on other machines are told at their start, beside their files: as secrets of the container's
// credentials (hadoop/credentials.h). They are the only private way into a container of YARN: its environment and
// command stand in launch_container.sh, which the node's pages show to everybody. Values; pure functions but for one.
//
//   tony.job, tony.attempt      "application_1700000000000_0001", "worker:3#1"
//   tony.token, tony.secrets    as the records of these names (records/job_records.h)
//   tony.spec                   the job spec (JSON); none: it is the file kSpecFile in the container's folder
//   tony.lease, tony.staged     the records am.lease and staged.json; paths of entries are names in that folder
//   tony.tls, tony.executor-tls of this process, and of those that it starts: <alias>.ca, .certificate, .key (PEM)
//
// Nothing here is for a log.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/hadoop/credentials.h"
#include "runtime/job/ids.h"
#include "runtime/net/tls.h"
#include "runtime/records/job_records.h"
#include "runtime/records/staged_files.h"

namespace tony {

// In the container's folder.
inline constexpr char kSpecFile[] = "tony-spec.json";
inline constexpr char kExecutorFile[] = "tony-executor";
inline constexpr char kMasterFolder[] = "tony-am";

// Of a larger one every launch would be a burden to the master and to the node, which keeps it in its own records; a
// file costs the node a download, which takes longer than a small one is worth.
inline constexpr size_t kLargestSpecInLaunch = 256 << 10;

struct JobSecrets {
  std::string token;                  // of the job
  std::vector<std::string> of_tasks;  // "NAME=value": variables that only its tasks get
  TlsIdentity tls;                    // this process's own
  bool operator==(const JobSecrets&) const = default;
};

// One that a NodeManager sets for each container. kUsage: it is not set, so no NodeManager started this.
Result<std::string> VariableOfContainer(const char* name);

// An executor's.
struct ContainerLaunch {
  JobId job;
  AttemptId attempt;
  JobSecrets secrets;
  std::string spec;  // empty: it is in kSpecFile
  LeaseRecord lease;
  StagedFiles staged;
};
void AddTo(hadoop::Credentials& credentials, const ContainerLaunch& launch);
// Of the bytes of $HADOOP_TOKEN_FILE_LOCATION. kInvalid names what is missing or wrong, without a byte of it.
Result<ContainerLaunch> LaunchIn(std::string_view credentials_file);

// A master's.
struct MasterLaunch {
  JobId job;
  JobSecrets secrets;
  TlsIdentity executors_tls;  // for those that it starts
};
void AddTo(hadoop::Credentials& credentials, const MasterLaunch& launch);
Result<MasterLaunch> MasterLaunchIn(const hadoop::Credentials& credentials);

}  // namespace tony
