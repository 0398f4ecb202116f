// The tokens with which the programs of a job call the cluster, in the token file of a container
// ($HADOOP_TOKEN_FILE_LOCATION). A client pushes fresh tokens to the application master (AM), and the AM sends them to
// the executors. Each of these programs replaces its container's file, so that the next call uses the new tokens.
//
//   tony.tokens    the secret of the file that holds number and end of pushed tokens: "1795662888622 1795749288622", in
//                  ms since 1970. Tokens without this secret have come with the job. The ResourceManager renews them,
//                  so they end at their longest life.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "runtime/base/result.h"
#include "runtime/hadoop/credentials.h"
#include "runtime/job/executor_protocol.h"

namespace tony {

// Returns the tokens for HDFS, its key management server and the ResourceManager among the credentials. Its number is
// the time at which the newest token for HDFS was issued, by the clock of the NameNode. number 0: the credentials have
// no such token. Pure.
ClusterTokens ClusterTokensIn(const hadoop::Credentials& credentials);

// Returns fresh tokens as a client pushes them. The first of them ends at `until`, as far as their renewer knows.
// number 0: the credentials have no token for HDFS. Pure.
ClusterTokens FreshClusterTokens(hadoop::Credentials fresh, Instant until);

// Replaces tokens with the same alias, and adds the others. Everything else stays. kInvalid: the pushed bytes are not
// credentials. Pure.
Status AddTo(hadoop::Credentials& credentials, const ClusterTokens& pushed);

// Replaces the tokens in a token file by a rename, so that a reader sees the old file or the new one. Blocks for the
// disk. kInvalid: the file or the pushed bytes are not credentials. Other errors are those of ReadFile() and
// WriteFileByRename(); the old file stays.
Status ReplaceTokens(const std::filesystem::path& file, const ClusterTokens& pushed);

}  // namespace tony
