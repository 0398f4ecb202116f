// The identity of this process at a cluster. A cluster without Kerberos trusts a user name. On a cluster with Kerberos,
// the identity is one of these, in this order:
//
// 1. the tokens in the file $HADOOP_TOKEN_FILE_LOCATION. A workflow engine may set this variable, and a NodeManager
//    sets it for each container;
// 2. the user's ticket or keytab (hadoop/gss_context.h). The ResourceManager accepts the ticket itself. For HDFS, the
//    process gets one token with the ticket, because WebHDFS would make a token for each file otherwise. With
//    $HADOOP_PROXY_USER, the owner of the ticket impersonates that user, if the cluster allows it (hadoop.proxyuser.*).
//
// The file is read for each use, because a new file with fresh tokens may take its place. All functions block; any
// thread. Errors: kNotPermitted and kUnavailable as those of GssContext; kInvalid if the file is not usable.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/hadoop/credentials.h"
#include "runtime/hadoop/hdfs.h"
#include "runtime/hadoop/rpc_connection.h"
#include "runtime/job/executor_protocol.h"
#include "runtime/job/job_spec.h"
#include "runtime/yarn/yarn_cluster.h"

namespace tony {

Result<hadoop::RpcIdentity> RmIdentityOf(const YarnCluster& cluster);

// Adds to an error of the cluster what a user can do about a refused ticket or token.
Error WithLoginAdvice(Error error);

// Returns for people what proves the user's identity, e.g. "the ticket of eve@EXAMPLE.ORG, which ends in 9 h".
Result<std::string> DescribeLogin();

// Returns `options` with the addresses of the cluster's NameNodes and the identity of this process there.
hadoop::Hdfs::Options HdfsOptionsOf(const YarnCluster& cluster, const HttpCallLimits& limits = {});

// Returns the service by which Hadoop's clients find a token for the cluster's HDFS: "ha-hdfs:pair", or the address of
// the NameNode.
std::string HdfsServiceOf(const YarnCluster& cluster);

// Returns the user's home folder in HDFS. Its last part is the name that the cluster's rules give the user. WebHDFS
// reports the folder. By RPC, the name follows from `rules` (hadoop.security.auth_to_local), as in Hadoop's clients.
Result<std::string> HomeFolderOf(const YarnCluster& cluster, const std::string& rules);

// Returns true if the launcher of this process has given it tokens, which the launcher's other programs use, too.
bool HasTokenFile();

// Returns the tokens that the application master and the tasks of a new job get: for the ResourceManager, for the
// cluster's HDFS and the key management server of its encryption zones, and for each other HDFS that the job names
// (OtherHdfsOf()). Empty without Kerberos. The ResourceManager renews these tokens, and cancels them when the job has
// ended, except if HasTokenFile().
Result<hadoop::Credentials> TokensForJob(const YarnCluster& cluster, const JobSpec& spec);

// Returns new tokens for a job that already runs. Only a user with a Kerberos ticket gets them. The user is their
// renewer, because the end of a token is known only to its renewer: by default a day, and the ResourceManager does not
// renew tokens that come after the submit. Another HDFS of the job that gives no token is logged and left out.
// kInvalid: the cluster has no Kerberos.
Result<ClusterTokens> FreshTokens(const YarnCluster& cluster, const JobSpec& spec);

// Checks the keytab of a job, which its AM uses to get fresh tokens; "": none. kInvalid: the cluster has no Kerberos.
// kNotPermitted: other users have access to the file, or it belongs to another user. Others: those of ReadFile().
Status CheckKeytab(const YarnCluster& cluster, const std::string& file);

// Makes this process use a keytab, given as the file's bytes, whenever it needs a ticket. Call it before other threads
// start, because it sets variables of the environment.
Status UseKeytab(const std::string& bytes);

}  // namespace tony
