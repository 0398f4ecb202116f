// Data that a job's processes on other machines receive at their start, in addition to their files. The data is passed
// as secrets in the container's credentials (hadoop/credentials.h), the only private way into a YARN container. A
// container's environment and command are written into launch_container.sh, which the node's pages show to everybody.
// Values; all functions are pure except VariableOfContainer().
//
//   tony.job, tony.attempt      "application_1700000000000_0001", "worker:3#1"
//   tony.token, tony.secrets    the records with these names (records/job_records.h)
//   tony.spec                   the job spec (JSON); if missing, it is in the file kSpecFile in the container's folder
//   tony.lease, tony.staged     the records am.lease and staged.json; paths of entries are names in that folder
//   tony.lease-place            the place of the record am.lease (JSON); if missing, the executor cannot read am.lease
//   tony.https-trust            which HTTPS servers the AM trusts (JSON); if missing, neither HDFS nor YARN has HTTPS
//   tony.keytab                 the keytab with which the AM gets fresh tokens; if missing, clients push them
//   tony.tls, tony.executor-tls TLS identities of this process, and of the executors that it starts: <alias>.ca,
//                               .certificate, .key (PEM)
//
// Never log any of these values.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/endpoint.h"
#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "runtime/hadoop/credentials.h"
#include "runtime/job/ids.h"
#include "runtime/net/http_client.h"
#include "runtime/net/tls.h"
#include "runtime/records/job_records.h"
#include "runtime/records/staged_files.h"

namespace tony {

// Names of files in the container's folder.
inline constexpr char kSpecFile[] = "tony-spec.json";
inline constexpr char kExecutorFile[] = "tony-executor";
inline constexpr char kMasterFolder[] = "tony-am";

// Returns the name that a log of an attempt has in the log folder of its container: "stdout", or "stdout.3" for attempt
// 3 if an earlier attempt ran in the same container. A node shows and moves only the files directly in this folder.
// The log of the executor belongs to all attempts in the container.
std::string NameInContainer(const std::string& stream, const AttemptId& attempt, bool is_first);

// The largest spec that is passed in the credentials. A larger spec becomes a file, because it would burden the AM at
// every launch, and the node, which keeps the credentials in its own records. A smaller spec does not become a file,
// because the node's download of a file takes longer.
inline constexpr size_t kLargestSpecInLaunch = 256 << 10;

struct JobSecrets {
  std::string token;  // token of the job
  // Variables that only the job's tasks get, as "NAME=value".
  std::vector<std::string> of_tasks;
  TlsIdentity tls;  // TLS identity of this process
  bool operator==(const JobSecrets&) const = default;
};

std::string ToJson(const HttpTrust& trust);
Result<HttpTrust> HttpTrustFromJson(std::string_view text);

// Returns a variable that a NodeManager sets for each container. kUsage: the variable is not set, so no NodeManager
// started this process.
Result<std::string> VariableOfContainer(const char* name);

// The job's folder in HDFS, for an executor that reads the lease record there (lease_reader.h).
struct LeasePlace {
  // Addresses of the web servers or RPC servers of the cluster's NameNodes. They are numeric, because a static executor
  // cannot resolve names. Empty: the place is not known.
  std::vector<Endpoint> name_nodes;
  std::string folder;  // "/user/eve/.tony/jobs/application_1700000000000_0001"
  std::string user;    // the user's name in HDFS
  // The service of the token with which the executor calls HDFS. The token is in the container's credentials. Empty:
  // the cluster trusts the user's name.
  std::string token_service = {};
  // The names of the NameNodes, which are HTTPS servers, in the order of `name_nodes`. Empty: they have no HTTPS.
  std::vector<std::string> hosts = {};
  HttpTrust trust = {};   // used with `hosts`
  bool uses_rpc = false;  // instead of WebHDFS
  bool operator==(const LeasePlace&) const = default;
};

// The file that a node quotes in its diagnostics, which reach the AM or the ResourceManager. A program that ends writes
// its reason into this file if it cannot report the reason otherwise. When the program starts, its standard error is
// this file (executor_context.cc). The constructor redirects standard error to standard output, which is the program's
// log.
class LastWords {
 public:
  LastWords();
  void Write(const std::string& reason) const;

 private:
  const UniqueFd file_;
};

// The data that an AM passes to an executor, in the credentials with which the executor's container is launched.
struct ContainerLaunch {
  JobId job;
  AttemptId attempt;
  JobSecrets secrets;
  // The job spec as JSON. Empty: the spec is in the file kSpecFile.
  std::string spec;
  LeaseRecord lease;
  LeasePlace lease_place;
  StagedFiles staged;
};
void AddTo(hadoop::Credentials& credentials, const ContainerLaunch& launch);
// Decodes the bytes of $HADOOP_TOKEN_FILE_LOCATION. kInvalid names what is missing or wrong, and quotes none of the
// bytes.
Result<ContainerLaunch> LaunchIn(std::string_view credentials_file);

// The data for an AM.
struct MasterLaunch {
  JobId job;
  JobSecrets secrets;
  TlsIdentity executors_tls;  // for executors that the AM starts
  // YarnCluster::trust.
  std::shared_ptr<const HttpTrust> https_trust = nullptr;
  std::string keytab = {};  // the file's bytes; empty: none
};
void AddTo(hadoop::Credentials& credentials, const MasterLaunch& launch);
Result<MasterLaunch> MasterLaunchIn(const hadoop::Credentials& credentials);

}  // namespace tony
