// `WebHdfs` accesses HDFS through its REST interface, WebHDFS. DataNodes are called by HTTP, too.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/hadoop/hdfs.h"
#include "runtime/hadoop/hdfs_answer.h"
#include "runtime/net/http_client.h"

namespace tony::hadoop {

// The key of a NameNode's address with HTTPS. Errors of its certificate begin with this key.
inline constexpr char kHttpsAddressKey[] = "dfs.namenode.https-address";

class WebHdfs : public Hdfs {
 public:
  WebHdfs(EventLoop& loop, Options options);

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

  // Returns the user's home folder, as the NameNode names it. Hadoop's RPC has no such call.
  [[nodiscard]] Handle GetHomeFolder(Done<Result<std::string>> done);

 private:
  using Query = std::vector<std::pair<std::string, std::string>>;
  struct Operation {
    std::string method, name, path;
    Query query;
    bool uses_ticket = false;  // instead of Options::token
    // Returns true if only the active NameNode executes this. An observer answers the other operations, minutes behind.
    bool IsForActiveOnly() const { return name == kActiveOperation || (method != "GET" && !is_redirected); }
    // The NameNode only names a DataNode.
    bool is_redirected = false;
    std::string Subject() const { return name + " " + path; }
  };
  class Steps;

  Result<HttpCall> CallFor(Steps& steps, const Operation& operation, const std::string& base) const;
  void AskActive(Steps& steps, const Operation& operation, size_t tries, const Done<Result<HttpResponse>>& done);
  void AskNameNode(Steps& steps, const Operation& operation, size_t tries, const Done<Result<HttpResponse>>& done);
  Handle Ask(const Operation& operation, Done<Result<HttpResponse>> done);
  Handle AskDataNode(const Operation& operation, HttpCall data, Done<Result<HttpResponse>> done);
  Handle SendBytes(const Operation& operation, HdfsBody body, Done<Result<HttpResponse>> done);

  EventLoop& loop_;
  Options options_;
  HttpClient http_;
};

}  // namespace tony::hadoop
