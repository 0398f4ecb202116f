// `RpcHdfs` accesses HDFS by the protocols of Hadoop's own clients: the NameNode's RPC (ClientProtocol), and the
// DataNodes' protocol for the data of blocks (data_node.h). Clusters without WebHDFS need it.
//
//   Create:  create -> addBlock -> the bytes to the DataNodes -> addBlock ... -> complete
//   Append:  append, which begins a new block -> the same
//   Read:    getBlockLocations -> the bytes of each block, from any DataNode that has them
//
// A file with an erasure coding is read cell by cell, and lost cells are restored (file_coding.h). New files are
// replicated, whatever the policy of their folder is. A file in an encryption zone is encrypted here (file_coding.h),
// with a key that the cluster's key management server (KMS) decrypts.
//
// A block that cannot be written is abandoned and written again to other DataNodes, a few times. A file stays open for
// its writer if a call is cancelled or fails. HDFS closes such a file after 20 minutes by default.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/hadoop/hdfs.h"
#include "runtime/hadoop/rpc_connection.h"
#include "runtime/net/host_resolver.h"

namespace tony::hadoop {

// The key of a file in an encryption zone, encrypted by a version of the zone's key.
struct EncryptedFileKey {
  std::string zone_key, version, iv, bytes;
};
// Decrypts a key by the KMS at `provider`, e.g. "kms://http@kms.example.org:9600/kms".
using DecryptFileKey = std::function<Hdfs::Handle(const std::string& provider, const EncryptedFileKey& key,
                                                  Hdfs::Done<Result<std::string>> done)>;

class RpcHdfs : public Hdfs {
 public:
  // `lookup` resolves the names of the NameNodes: ResolveHost(), or a function that a static program can call. Without
  // `decrypt_key`, files in encryption zones are refused.
  RpcHdfs(EventLoop& loop, Options options, HostResolver::Lookup lookup, DecryptFileKey decrypt_key = nullptr);

  Handle MakeFolders(const std::string& path, int permission, Done<Status> done) override;
  Handle GetEntry(const std::string& path, Done<Result<HdfsEntry>> done) override;
  Handle GetToken(const std::string& renewer, const std::string& proxied, Done<Result<Token>> done) override;
  Handle GetKeyProvider(Done<Result<std::string>> done) override;
  Handle RenewToken(const Token& token, Done<Result<Instant>> done) override;
  Handle CheckAccess(const std::string& path, const std::string& action, Done<Status> done) override;
  Handle List(const std::string& path, Done<Result<std::vector<HdfsEntry>>> done) override;
  Handle Create(const std::string& path, HdfsBody body, const HdfsCreation& how, Done<Result<bool>> done) override;
  Handle Append(const std::string& path, HdfsBody body, Done<Status> done) override;
  Handle Read(const std::string& path, int64_t offset, int64_t length, Done<Result<std::string>> done) override;
  Handle Rename(const std::string& from, const std::string& to, HdfsRename how, Done<Result<bool>> done) override;
  Handle Remove(const std::string& path, Done<Result<bool>> done) override;
  Handle SetPermission(const std::string& path, int permission, Done<Status> done) override;
  Handle SetXattr(const std::string& path, const std::string& name, std::string_view value, HdfsXattr how,
                  Done<Result<bool>> done) override;
  Handle GetXattrs(const std::string& path, Done<Result<std::map<std::string, std::string>>> done) override;

 private:
  struct Call {
    std::string method, path;
    bool writes = false;
  };
  // The settings of the cluster that a writer needs.
  struct Defaults {
    uint64_t block_size = 0;
    uint32_t chunk = 0;  // bytes for each checksum
    uint32_t replication = 0;
    bool encrypts_data = false;
    std::string key_provider = {};
  };
  using Reply = RpcConnection::Reply;
  class Steps;
  class DataSteps;
  class Writing;
  class Reading;

  RpcConnection MakeConnection(RpcIdentity identity);
  void Send(Steps& steps, const Call& call, const std::string& request, size_t tries, Done<Result<Reply>> done);
  void SendNow(Steps& steps, const Call& call, const std::string& request, size_t tries, Done<Result<Reply>> done);
  void TakeReply(Steps& steps, const Call& call, const std::string& request, size_t tries, const Reply& reply,
                 const Done<Result<Reply>>& done);
  static Result<std::string> Checked(const Call& call, const Result<Reply>& reply);
  template <class Response, class T, class Convert>
  static Done<Result<Reply>> Parsing(const Call& call, Convert convert, Done<Result<T>> done);
  template <class Response, class T, class Request, class Convert>
  Handle Ask(const Call& call, const Request& request, Convert convert, Done<Result<T>> done);
  template <class Response, class Request>
  Handle AskStatus(const Call& call, const Request& request, Done<Status> done);
  template <class Response, class Request>
  Handle AskNew(const Call& call, const Request& request, Done<Result<bool>> done);
  template <class Response, class T, class Request, class Convert>
  Handle AskWithTicket(const Call& call, const std::string& proxied, const Request& request, Convert convert,
                       Done<Result<T>> done);

  EventLoop& loop_;
  const Options options_;
  HostResolver names_;
  RpcConnection name_node_;
  const DecryptFileKey decrypt_key_;
  std::optional<Defaults> defaults_;
  // The NameNode that has last shown that it is active, and until when it counts as active.
  std::optional<Endpoint> shown_active_;
  Duration active_until_{};  // since boot
  // The decrypted keys of files by the encrypted ones, because a file is read in several calls.
  std::map<std::string, std::string> file_keys_;
};

}  // namespace tony::hadoop
