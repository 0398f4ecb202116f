#include "runtime/yarn/yarn_cluster.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

#include "runtime/base/event_loop.h"
#include "runtime/base/strings.h"
#include "runtime/net/host_resolver.h"
#include "runtime/os/users.h"
#include "runtime/yarn/yarn_configured.h"

namespace tony {

// Calls `method` of a client with `arguments`, and waits for the answer.
template <class T, class... Parameters, class... Arguments>
Result<T> RmCalls::Ask(void (hadoop::RmClient::*method)(Parameters...), const Arguments&... arguments) const {
  EventLoop loop;
  HostResolver names(loop);
  hadoop::RmClient client(loop, names, rm_, hadoop::SimpleUser{user_}, {.establish = limit_, .call = limit_});
  auto answer = RunUntilAnswer<Result<T>>(loop, [&](auto done) {
    (client.*method)(arguments..., done);
    return 0;
  });
  if (!answer.ok() && answer.error().code == ErrorCode::kUnavailable)
    return Annotate(answer.error(), "yarn.resourcemanager.address");
  return answer;
}

using hadoop::RmClient;

Result<hadoop::NewApplication> RmCalls::ReserveApplicationId() const {
  return Ask<hadoop::NewApplication>(&RmClient::ReserveApplicationId);
}
Status RmCalls::Submit(const hadoop::Submission& submission) const {
  return Ask<bool>(&RmClient::Submit, submission).status();
}
Result<hadoop::ApplicationReport> RmCalls::Report(const hadoop::ApplicationId& id) const {
  return Ask<hadoop::ApplicationReport>(&RmClient::Report, id);
}
Result<std::vector<hadoop::ApplicationReport>> RmCalls::Applications() const {
  return Ask<std::vector<hadoop::ApplicationReport>>(&RmClient::Applications);
}
Status RmCalls::Kill(const hadoop::ApplicationId& id, const std::string& reason) const {
  return Ask<bool>(&RmClient::Kill, id, reason).status();
}
Result<hadoop::QueueReport> RmCalls::Queue(const std::string& name) const {
  return Ask<hadoop::QueueReport>(&RmClient::Queue, name);
}
Result<std::vector<std::string>> RmCalls::QueuesOfUser() const {
  return Ask<std::vector<std::string>>(&RmClient::QueuesOfUser);
}
Result<std::vector<std::string>> RmCalls::NodeLabels() const {
  return Ask<std::vector<std::string>>(&RmClient::NodeLabels);
}
Result<hadoop::ClusterMetrics> RmCalls::Metrics() const { return Ask<hadoop::ClusterMetrics>(&RmClient::Metrics); }
Result<std::vector<hadoop::NodeReport>> RmCalls::RunningNodes() const {
  return Ask<std::vector<hadoop::NodeReport>>(&RmClient::RunningNodes);
}

namespace {

constexpr int kNameNodePort = 8020;  // HdfsClientConfigKeys.DFS_NAMENODE_RPC_PORT_DEFAULT
constexpr int kWebPort = 9870;       // HdfsClientConfigKeys.DFS_NAMENODE_HTTP_PORT_DEFAULT
constexpr int kRmWebPort = 8088;     // YarnConfiguration.DEFAULT_RM_WEBAPP_PORT
constexpr int kProxyPort = 9099;     // YarnConfiguration.DEFAULT_PROXY_PORT

std::optional<std::string> Variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value ? std::optional<std::string>(value) : std::nullopt;
}

// Returns kInvalid if `key` has a value that is not supported: one for which `is_there` returns false.
template <class IsThere>
Status Only(const hadoop::SiteConfiguration& site, const std::string& key, std::string_view what, IsThere is_there) {
  TRY_ASSIGN(const auto value, site.Find(key));
  if (!value || value->text.empty() || is_there(value->text)) return Ok();
  return InvalidError(value->origin, ": ", key, " is \"", value->text, "\": ", what, " is not supported yet");
}

// Parses "host:port" or "host".
std::optional<Endpoint> EndpointFrom(const std::string& text, int default_port) {
  const size_t colon = text.rfind(':');
  const auto port = colon == std::string::npos ? default_port : ParseInt(text.substr(colon + 1));
  const std::string host = text.substr(0, colon);
  if (host.empty() || !port || *port < 1 || *port > 65535) return std::nullopt;
  return Endpoint{host, static_cast<int>(*port)};
}

// Reads the NameNode from "hdfs://nn.example.org:8020", with or without a path after it.
Result<Endpoint> NameNode(const hadoop::SiteConfiguration& site) {
  constexpr const char* kKey = "fs.defaultFS";
  constexpr std::string_view kScheme = "hdfs://";
  TRY(Only(site, "dfs.nameservices", "HDFS with several NameNodes", [](const std::string&) { return false; }));
  TRY_ASSIGN(const auto value, site.Find(kKey));
  const std::string text = value ? value->text : "";
  const std::string authority = text.starts_with(kScheme) ? Split(text.substr(kScheme.size()), '/').front() : "";
  const auto name_node = EndpointFrom(authority, kNameNodePort);
  if (!name_node) {
    return InvalidError(value ? value->origin : "core-site.xml", ": ", kKey, " is \"", text,
                        "\", expected hdfs://HOST:PORT");
  }
  return *name_node;
}

// Returns the URL of the NameNode's web server. If the configured address is 0.0.0.0, the web server is on the
// NameNode's host.
Result<std::string> WebHdfsOf(const hadoop::SiteConfiguration& site, const Endpoint& name_node) {
  constexpr const char* kKey = "dfs.namenode.http-address";
  TRY_ASSIGN(const auto value, site.Find(kKey));
  Endpoint web{name_node.host, kWebPort};
  if (value && !value->text.empty()) {
    TRY_ASSIGN(web, site.Address(kKey, kWebPort));
    if (value->text.starts_with("0.0.0.0")) web.host = name_node.host;
  }
  return StrCat("http://", ToString(web));
}

// Returns the URL of the ResourceManager's web server. The text is empty if the URL is not known, because a job does
// not need this server.
std::string RmWebOf(const hadoop::SiteConfiguration& site, const Endpoint& rm) {
  const auto policy = site.Find("yarn.http.policy");
  if (!policy.ok() || (*policy && (*policy)->text == "HTTPS_ONLY")) return "";
  constexpr const char* kKey = "yarn.resourcemanager.webapp.address";
  auto web = site.Address(kKey, kRmWebPort);
  if (!web.ok()) return "";
  if (const auto value = site.Find(kKey); value.ok() && (*value)->text.starts_with("0.0.0.0")) web->host = rm.host;
  return StrCat("http://", ToString(*web));
}

// Adds the properties at `place`, which may be empty. `from` is the variable or the key that names `place`.
Status Add(const char* from, const std::string& place, Result<Properties> (*read)(const std::filesystem::path&),
           Properties& sites) {
  if (place.empty()) return Ok();
  const auto more = read(place);
  if (!more.ok()) return InvalidError(from, ": ", more.error().message);
  sites.Merge(*more);
  return Ok();
}

}  // namespace

Result<YarnCluster> YarnClusterOf(const hadoop::SiteConfiguration& site, std::string user) {
  TRY(Only(site, "hadoop.security.authentication", "a cluster with Kerberos",
           [](const std::string& text) { return text == "simple"; }));
  TRY(Only(site, "dfs.http.policy", "HDFS with HTTPS only",
           [](const std::string& text) { return text != "HTTPS_ONLY"; }));
  TRY_ASSIGN(const auto managers, hadoop::ResourceManagers(site));
  if (managers.size() > 1) {
    TRY(Only(site, "yarn.resourcemanager.ha.enabled", "YARN with several ResourceManagers",
             [](const std::string&) { return false; }));
  }
  TRY_ASSIGN(const Endpoint name_node, NameNode(site));
  TRY_ASSIGN(std::string webhdfs, WebHdfsOf(site, name_node));
  TRY_ASSIGN(const std::string homes, site.Text("dfs.user.home.dir.prefix"));
  const auto enforces_queue_acls = site.Bool("yarn.acl.enable");
  const auto has_webhdfs = site.Bool("dfs.webhdfs.enabled");
  const auto protection = site.Text("hadoop.rpc.protection");
  const auto proxy = site.Address("yarn.web-proxy.address", kProxyPort);
  const std::string home = StrCat(homes, "/", user);
  return YarnCluster{.rm = managers.front().client,
                     .scheduler = managers.front().scheduler,
                     .name_node = name_node,
                     .webhdfs = std::move(webhdfs),
                     .user = std::move(user),
                     .home = home,
                     .rm_web = RmWebOf(site, managers.front().client),
                     .web_proxy = proxy.ok() ? StrCat("http://", ToString(*proxy)) : "",
                     .enforces_queue_acls = enforces_queue_acls.ok() && *enforces_queue_acls,
                     .rpc_protection = protection.ok() ? *protection : "",
                     .has_webhdfs_off = has_webhdfs.ok() && !*has_webhdfs};
}

std::string ToText(const YarnCluster& cluster) {
  std::vector<std::string> words = {
      ToString(cluster.rm), ToString(cluster.scheduler), ToString(cluster.name_node), cluster.webhdfs, cluster.user,
      cluster.home};
  if (!cluster.rm_web.empty()) words.push_back(cluster.rm_web);
  if (!cluster.rm_web.empty() && !cluster.web_proxy.empty()) words.push_back(cluster.web_proxy);
  return Join(words, " ");
}

Result<YarnCluster> YarnClusterFromText(const std::string& text) {
  const auto words = Split(text, ' ');
  const Error bad{ErrorCode::kInvalid, StrCat("\"", text, "\": expected six to eight words")};
  if (words.size() < 6 || words.size() > 8) return bad;
  std::vector<Endpoint> endpoints;
  for (size_t i = 0; i < 3; ++i) {
    const auto endpoint = EndpointFrom(words[i], 0);
    if (!endpoint) return bad;
    endpoints.push_back(*endpoint);
  }
  return YarnCluster{.rm = endpoints[0],
                     .scheduler = endpoints[1],
                     .name_node = endpoints[2],
                     .webhdfs = words[3],
                     .user = words[4],
                     .home = words[5],
                     .rm_web = words.size() > 6 ? words[6] : "",
                     .web_proxy = words.size() > 7 ? words[7] : ""};
}

Result<std::vector<Endpoint>> ResolveNameNodes(const YarnCluster& cluster) {
  constexpr std::string_view kScheme = "http://";
  const bool is_http = cluster.webhdfs.starts_with(kScheme);
  const auto web = is_http ? EndpointFrom(cluster.webhdfs.substr(kScheme.size()), kWebPort) : std::nullopt;
  if (!web) return InvalidError("WebHDFS is at \"", cluster.webhdfs, "\", expected http://HOST:PORT");
  TRY_ASSIGN(const std::string address, ResolveHost(web->host));
  return std::vector{Endpoint{address, web->port}};
}

// Returns an empty text if the ResourceManager's web server is not known, because only that server can check who may
// view a page.
std::string WebProxyOf(const YarnCluster& cluster) {
  return cluster.rm_web.empty() || cluster.web_proxy.empty() ? cluster.rm_web : cluster.web_proxy;
}

std::string PageOf(const YarnCluster& cluster, const JobId& job) {
  const std::string proxy = WebProxyOf(cluster);
  return proxy.empty() ? "" : StrCat(proxy, "/proxy/", job.value, "/");
}

Result<YarnCluster> FindYarnCluster(const SiteFiles& files) {
  const std::string folder = ExpandTilde(Variable(kConfigurationVariable).value_or(""));
  if (folder.empty() && files == SiteFiles()) return YarnNotConfigured();
  Properties sites;
  TRY(Add(kConfigurationVariable, folder, hadoop::ReadSiteFolder, sites));
  TRY(Add(kHdfsSiteKey, files.hdfs, hadoop::ReadSite, sites));
  TRY(Add(kYarnSiteKey, files.yarn, hadoop::ReadSite, sites));
  const std::string user = Variable("HADOOP_USER_NAME").value_or("");
  return YarnClusterOf(hadoop::SiteConfiguration(sites, Variable), user.empty() ? UserName(geteuid()) : user);
}

Result<YarnCluster> FindYarnCluster(const JobId& job) {
  const bool is_set = !Variable(kConfigurationVariable).value_or("").empty();
  if (job.value.empty() && is_set) return FindYarnCluster(SiteFiles());
  TRY_ASSIGN(const auto note, FindClusterNoteOrNewest(job));
  if (!note) return FindYarnCluster(SiteFiles());
  return Annotate(YarnClusterFromText(note->text), note->file.string());
}

}  // namespace tony
