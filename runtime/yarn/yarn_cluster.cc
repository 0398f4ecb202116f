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

template <class T, class Ask>
Result<T> RmCalls::Await(Ask ask) const {
  EventLoop loop;
  HostResolver names(loop);
  hadoop::RmClient client(loop, names, rm_, hadoop::SimpleUser{user_}, {.establish = limit_, .call = limit_});
  std::optional<Result<T>> answer;
  ask(client, [&](Result<T> told) {
    answer = std::move(told);
    loop.Stop();
  });
  loop.Run();
  if (!answer->ok() && answer->error().code == ErrorCode::kUnavailable)
    return Annotate(answer->error(), "yarn.resourcemanager.address");
  return *std::move(answer);
}

Result<hadoop::NewApplication> RmCalls::MakeApplication() const {
  return Await<hadoop::NewApplication>([](hadoop::RmClient& rm, auto done) { rm.MakeApplication(done); });
}

Status RmCalls::Submit(const hadoop::Submission& submission) const {
  const auto submitted = Await<bool>([&](hadoop::RmClient& rm, auto done) {
    rm.Submit(submission, [done](const Status& told) { done(told.ok() ? Result<bool>(true) : told.error()); });
  });
  return submitted.ok() ? Ok() : Status(submitted.error());
}

Result<hadoop::ApplicationReport> RmCalls::Report(const hadoop::ApplicationId& id) const {
  return Await<hadoop::ApplicationReport>([&](hadoop::RmClient& rm, auto done) { rm.Report(id, done); });
}

Result<std::vector<hadoop::ApplicationReport>> RmCalls::Applications() const {
  return Await<std::vector<hadoop::ApplicationReport>>([](hadoop::RmClient& rm, auto done) { rm.Applications(done); });
}

Status RmCalls::Kill(const hadoop::ApplicationId& id, const std::string& reason) const {
  const auto killed = Await<bool>([&](hadoop::RmClient& rm, auto done) { rm.Kill(id, reason, done); });
  return killed.ok() ? Ok() : Status(killed.error());
}

Result<hadoop::QueueReport> RmCalls::Queue(const std::string& name) const {
  return Await<hadoop::QueueReport>([&](hadoop::RmClient& rm, auto done) { rm.Queue(name, done); });
}

Result<std::vector<std::string>> RmCalls::QueuesOfUser() const {
  return Await<std::vector<std::string>>([](hadoop::RmClient& rm, auto done) { rm.QueuesOfUser(done); });
}

Result<std::vector<std::string>> RmCalls::NodeLabels() const {
  return Await<std::vector<std::string>>([](hadoop::RmClient& rm, auto done) { rm.NodeLabels(done); });
}

Result<hadoop::ClusterMetrics> RmCalls::Metrics() const {
  return Await<hadoop::ClusterMetrics>([](hadoop::RmClient& rm, auto done) { rm.Metrics(done); });
}

Result<std::vector<hadoop::NodeReport>> RmCalls::RunningNodes() const {
  return Await<std::vector<hadoop::NodeReport>>([](hadoop::RmClient& rm, auto done) { rm.RunningNodes(done); });
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

std::string HadoopUser() {
  if (const auto name = Variable("HADOOP_USER_NAME"); name && !name->empty()) return *name;
  return UserName(geteuid());
}

Error NotYet(const hadoop::SiteConfiguration::Value& value, const std::string& key, std::string_view what) {
  return {ErrorCode::kInvalid,
          StrCat(value.origin, ": ", key, " is \"", value.text, "\": ", what, " cannot be used yet")};
}

// kInvalid where `key` has a value for which `is_there` says no.
template <class IsThere>
Status Only(const hadoop::SiteConfiguration& site, const std::string& key, std::string_view what, IsThere is_there) {
  TRY_ASSIGN(const auto value, site.Find(key));
  if (!value || value->text.empty() || is_there(value->text)) return Ok();
  return NotYet(*value, key, what);
}

Status CheckSecurity(const hadoop::SiteConfiguration& site) {
  TRY(Only(site, "hadoop.security.authentication", "a cluster with Kerberos",
           [](const std::string& text) { return text == "simple"; }));
  return Only(site, "dfs.http.policy", "HDFS by HTTPS alone",
              [](const std::string& text) { return text != "HTTPS_ONLY"; });
}

// "host:port" or "host".
std::optional<Endpoint> EndpointFrom(const std::string& text, int default_port) {
  const size_t colon = text.rfind(':');
  const auto port = colon == std::string::npos ? default_port : ParseInt(text.substr(colon + 1));
  const std::string host = text.substr(0, colon);
  if (host.empty() || !port || *port < 1 || *port > 65535) return std::nullopt;
  return Endpoint{host, static_cast<int>(*port)};
}

// "hdfs://nn.example.org:8020", with or without a path behind it.
Result<Endpoint> NameNode(const hadoop::SiteConfiguration& site) {
  constexpr const char* kKey = "fs.defaultFS";
  constexpr std::string_view kScheme = "hdfs://";
  TRY(Only(site, "dfs.nameservices", "HDFS with several NameNodes", [](const std::string&) { return false; }));
  TRY_ASSIGN(const auto value, site.Find(kKey));
  const std::string text = value ? value->text : "";
  const std::string authority = text.starts_with(kScheme) ? Split(text.substr(kScheme.size()), '/').front() : "";
  const auto name_node = EndpointFrom(authority, kNameNodePort);
  if (!name_node) {
    return Error{ErrorCode::kInvalid, StrCat(value ? value->origin : "core-site.xml", ": ", kKey, " is \"", text,
                                             "\", expected hdfs://HOST:PORT")};
  }
  return *name_node;
}

// Set to listen everywhere, it is reached where the NameNode is.
Result<std::string> WebHdfsOf(const hadoop::SiteConfiguration& site, const Endpoint& name_node) {
  constexpr const char* kKey = "dfs.namenode.http-address";
  TRY(Only(site, "dfs.webhdfs.enabled", "HDFS without WebHDFS",
           [](const std::string& text) { return text == "true"; }));
  TRY_ASSIGN(const auto value, site.Find(kKey));
  Endpoint web{name_node.host, kWebPort};
  if (value && !value->text.empty()) {
    TRY_ASSIGN(web, site.Address(kKey, kWebPort));
    if (value->text.starts_with("0.0.0.0")) web.host = name_node.host;
  }
  return StrCat("http://", ToString(web));
}

// Empty: what is asked there is not needed for a job.
std::string RmWebOf(const hadoop::SiteConfiguration& site, const Endpoint& rm) {
  const auto policy = site.Find("yarn.http.policy");
  if (!policy.ok() || (*policy && (*policy)->text == "HTTPS_ONLY")) return "";
  constexpr const char* kKey = "yarn.resourcemanager.webapp.address";
  auto web = site.Address(kKey, kRmWebPort);
  if (!web.ok()) return "";
  if (const auto value = site.Find(kKey); value.ok() && (*value)->text.starts_with("0.0.0.0")) web->host = rm.host;
  return StrCat("http://", ToString(*web));
}

// A proxy of its own, in place of the ResourceManager's.
std::string ProxyIn(const hadoop::SiteConfiguration& site) {
  const auto proxy = site.Address("yarn.web-proxy.address", kProxyPort);
  return proxy.ok() ? StrCat("http://", ToString(*proxy)) : "";
}

// `from`: the variable or the key that names `place`, which may be empty.
Status Add(const char* from, const std::string& place, Result<Properties> (*read)(const std::filesystem::path&),
           Properties& sites) {
  if (place.empty()) return Ok();
  const auto more = read(place);
  if (!more.ok()) return Error{ErrorCode::kInvalid, StrCat(from, ": ", more.error().message)};
  sites.Merge(*more);
  return Ok();
}

}  // namespace

Result<YarnCluster> YarnClusterOf(const hadoop::SiteConfiguration& site, std::string user) {
  TRY(CheckSecurity(site));
  TRY_ASSIGN(const auto managers, hadoop::ResourceManagers(site));
  if (managers.size() > 1) {
    TRY(Only(site, "yarn.resourcemanager.ha.enabled", "YARN with several ResourceManagers",
             [](const std::string&) { return false; }));
  }
  TRY_ASSIGN(const Endpoint name_node, NameNode(site));
  TRY_ASSIGN(std::string webhdfs, WebHdfsOf(site, name_node));
  TRY_ASSIGN(const std::string homes, site.Text("dfs.user.home.dir.prefix"));
  const auto has_queue_rules = site.Bool("yarn.acl.enable");
  const std::string home = StrCat(homes, "/", user);
  return YarnCluster{.rm = managers.front().client,
                     .scheduler = managers.front().scheduler,
                     .name_node = name_node,
                     .webhdfs = std::move(webhdfs),
                     .user = std::move(user),
                     .home = home,
                     .rm_web = RmWebOf(site, managers.front().client),
                     .web_proxy = ProxyIn(site),
                     .has_queue_rules = has_queue_rules.ok() && *has_queue_rules};
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

// Whoever does not know the ResourceManager's web server cannot know who may look.
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
  return YarnClusterOf(hadoop::SiteConfiguration(sites, Variable), HadoopUser());
}

Result<YarnCluster> FindYarnCluster(const JobId& job) {
  const bool is_set = !Variable(kConfigurationVariable).value_or("").empty();
  if (job.value.empty() && is_set) return FindYarnCluster(SiteFiles());
  TRY_ASSIGN(const auto note, FindClusterNoteOrNewest(job));
  if (!note) return FindYarnCluster(SiteFiles());
  auto cluster = YarnClusterFromText(note->text);
  if (!cluster.ok()) return Annotate(cluster.error(), note->file.string());
  return cluster;
}

}  // namespace tony
