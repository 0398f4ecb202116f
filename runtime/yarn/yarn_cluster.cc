#include "runtime/yarn/yarn_cluster.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

#include "runtime/base/event_loop.h"
#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/hadoop/default_fs.h"
#include "runtime/hadoop/trust_store.h"
#include "runtime/job/hdfs_place.h"
#include "runtime/net/host_resolver.h"
#include "runtime/os/users.h"
#include "runtime/yarn/cluster_login.h"
#include "runtime/yarn/container_launch.h"
#include "runtime/yarn/yarn_configured.h"

namespace tony {
namespace {

// The index of the ResourceManager that answered last. All calls of this process begin with it.
std::atomic<size_t> active_rm = 0;

}  // namespace

// Calls `method` of a client with `arguments`, and waits for the answer.
template <class T, class... Parameters, class... Arguments>
Result<T> RmCalls::Ask(void (hadoop::RmClient::*method)(Parameters...), const Arguments&... arguments) const {
  const auto& rms = cluster_.rms;
  const Duration limit = limit_ / static_cast<int>(rms.size());
  const size_t first = active_rm;
  std::vector<std::string> failures;
  for (size_t asked = first; asked < first + rms.size(); ++asked) {
    TRY_ASSIGN(const hadoop::RpcIdentity identity,
               identity_ ? Result<hadoop::RpcIdentity>(*identity_) : RmIdentityOf(cluster_));
    EventLoop loop;
    HostResolver names(loop);
    hadoop::RmClient client(loop, names, {rms[asked % rms.size()]}, identity, {.establish = limit, .call = limit});
    auto answer = RunUntilAnswer<Result<T>>(loop, [&](auto done) {
      (client.*method)(arguments..., done);
      return 0;
    });
    if (answer.ok() || answer.error().code != ErrorCode::kUnavailable) {
      active_rm = asked % rms.size();
      if (!answer.ok()) return WithLoginAdvice(answer.error());
      return answer;
    }
    failures.push_back(answer.error().message);
  }
  return Error{ErrorCode::kUnavailable, StrCat("yarn.resourcemanager.address: ", Join(failures, "; "))};
}

using hadoop::RmClient;

Result<hadoop::NewApplication> RmCalls::ReserveApplicationId() const {
  return Ask<hadoop::NewApplication>(&RmClient::ReserveApplicationId);
}
Status RmCalls::Submit(const hadoop::Submission& submission) const {
  return Ask<bool>(&RmClient::Submit, submission).status();
}
Result<hadoop::Token> RmCalls::NewToken(const std::string& renewer) const {
  return Ask<hadoop::Token>(&RmClient::NewToken, renewer);
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

constexpr std::string_view kKerberos = "kerberos";
constexpr char kNameNodePrincipalKey[] = "dfs.namenode.kerberos.principal";
// The name of a word at the end of ToText() that names the ResourceManagers' principal.
constexpr std::string_view kPrincipalWord = "rm-principal=";
// The same for HDFS by RPC: its NameNodes, their principal, and whether the DataNodes check tokens.
constexpr std::string_view kRpcWord = "hdfs-rpc=", kNameNodePrincipalWord = "nn-principal=";
constexpr std::string_view kProvesWord = "proves-data-transfer=";
// The same for a cluster with YarnCluster::has_https_masters, and for further file systems.
constexpr std::string_view kHttpsMastersWord = "https-masters=";
constexpr std::string_view kNamedWord = "named-hdfs=", kViewWord = "view=", kMountsWord = "mounts=";
// The line of a note that has YarnCluster::gateway.
constexpr std::string_view kGatewayLine = "gateway ";
constexpr int kProxyPort = 9099;  // YarnConfiguration.DEFAULT_PROXY_PORT

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

// Adds the properties at `place`, which may be empty. `from` is the variable or the key that names `place`.
Status Add(const char* from, const std::string& place, Result<Properties> (*read)(const std::filesystem::path&),
           Properties& sites) {
  if (place.empty()) return Ok();
  const auto more = read(place);
  if (!more.ok()) return InvalidError(from, ": ", more.error().message);
  sites.Merge(*more);
  return Ok();
}

// Without Kerberos there are no tokens that DataNodes could check. Only calls that use a ticket need the principal.
Result<hadoop::HdfsRpc> RpcOf(const hadoop::SiteConfiguration& site, bool has_kerberos) {
  hadoop::HdfsRpc rpc;
  if (!has_kerberos) return rpc;
  TRY_ASSIGN(const auto principal, site.Find(kNameNodePrincipalKey));
  if (principal) rpc.principal = principal->text;
  TRY_ASSIGN(const auto protection, site.Find("dfs.data.transfer.protection"));
  rpc.proves_data_transfer = protection && !protection->text.empty();
  return rpc;
}

}  // namespace

Result<YarnCluster> YarnClusterOf(const hadoop::SiteConfiguration& site, std::string user) {
  TRY(Only(site, "hadoop.security.authentication", "this authentication",
           [](const std::string& text) { return text == "simple" || text == kKerberos; }));
  TRY_ASSIGN(const auto managers, hadoop::ResourceManagers(site));
  TRY_ASSIGN(hadoop::MountTables mounts, hadoop::MountTablesOf(site));
  TRY_ASSIGN(const auto fs, hadoop::DefaultFsOf(site, mounts, user));
  const hadoop::HdfsAddresses& hdfs = fs.hdfs;
  const auto enforces_queue_acls = site.Bool("yarn.acl.enable");
  TRY_ASSIGN(const bool has_webhdfs, site.Bool("dfs.webhdfs.enabled"));
  const auto protection = site.Text("hadoop.rpc.protection");
  const auto masters_policy = site.Text("yarn.resourcemanager.application-https.policy");
  const auto proxy = site.Address("yarn.web-proxy.address", kProxyPort);
  TRY_ASSIGN(const bool has_https_pages, hadoop::IsHttpsOnly(site, "yarn.http.policy"));
  const auto url_of = [](bool has_https, const Endpoint& web) {
    return StrCat(has_https ? "https://" : "http://", ToString(web));
  };
  YarnCluster cluster{.name_node = hdfs.authority,
                      .user = std::move(user),
                      .home = fs.home,
                      .web_proxy = proxy.ok() ? url_of(has_https_pages, *proxy) : "",
                      .has_https_masters = masters_policy.ok() && *masters_policy == "STRICT",
                      .enforces_queue_acls = enforces_queue_acls.ok() && *enforces_queue_acls,
                      .rpc_protection = protection.ok() ? *protection : "",
                      .gateway = fs.gateway,
                      .view = fs.view,
                      .mounts = std::move(mounts)};
  for (const auto& [name, one] : hadoop::NamedHdfs(site)) cluster.named_hdfs[name] = {one.rpcs, one.webs};
  TRY_ASSIGN(const std::string authentication, site.Text("hadoop.security.authentication"));
  if (authentication == kKerberos) {
    TRY_ASSIGN(cluster.rm_principal, site.Text("yarn.resourcemanager.principal"));
  }
  TRY_ASSIGN(const auto block_protection, site.Find("dfs.data.transfer.protection"));
  const auto encrypts = site.Bool("dfs.encrypt.data.transfer");
  cluster.encrypts_blocks = (block_protection && block_protection->text == "privacy") || (encrypts.ok() && *encrypts);
  TRY_ASSIGN(cluster.hdfs_rpc, RpcOf(site, authentication == kKerberos));
  if (!has_webhdfs) cluster.hdfs_rpc.name_nodes = hdfs.rpcs;
  if (!UsesWebHdfs(cluster) && authentication == kKerberos) TRY(site.Text(kNameNodePrincipalKey));
  for (const hadoop::ResourceManager& manager : managers) {
    cluster.rms.push_back(manager.client);
    cluster.schedulers.push_back(manager.scheduler);
  }
  for (const Endpoint& web : hdfs.webs) cluster.webhdfs.push_back(url_of(hdfs.has_https, web));
  if (const auto& web = managers.front().web) cluster.rm_web = url_of(has_https_pages, *web);
  return cluster;
}

std::string ToText(const std::vector<Endpoint>& endpoints) {
  std::vector<std::string> texts;
  for (const Endpoint& endpoint : endpoints) texts.push_back(ToString(endpoint));
  return Join(texts, ",");
}

namespace {

// Parses what ToText() returns; empty if the text has another form.
std::vector<Endpoint> EndpointsFrom(const std::string& text) {
  std::vector<Endpoint> endpoints;
  for (const std::string& word : Split(text, ',')) {
    const auto endpoint = ParseEndpoint(word, 0);
    if (!endpoint) return {};
    endpoints.push_back(*endpoint);
  }
  return endpoints;
}

// Returns e.g. "ns2/nn3:8020/nn3:9870;ns3/nn4:8020,nn5:8020/nn4:9870,nn5:9870".
std::string NamedText(const std::map<std::string, YarnCluster::Named>& all) {
  std::vector<std::string> words;
  for (const auto& [name, hdfs] : all) words.push_back(StrCat(name, "/", ToText(hdfs.rpcs), "/", ToText(hdfs.webs)));
  return Join(words, ";");
}

std::map<std::string, YarnCluster::Named> NamedFrom(const std::string& text) {
  std::map<std::string, YarnCluster::Named> all;
  for (const std::string& word : Split(text, ';'))
    if (const auto parts = Split(word, '/'); parts.size() == 3)
      all[parts[0]] = {EndpointsFrom(parts[1]), EndpointsFrom(parts[2])};
  return all;
}

}  // namespace

std::string ToText(const YarnCluster& cluster) {
  std::vector<std::string> words = {ToText(cluster.rms),
                                    ToText(cluster.schedulers),
                                    HdfsAuthority(cluster.name_node),
                                    Join(cluster.webhdfs, ","),
                                    cluster.user,
                                    cluster.home};
  if (!cluster.rm_web.empty()) words.push_back(cluster.rm_web);
  if (!cluster.rm_web.empty() && !cluster.web_proxy.empty()) words.push_back(cluster.web_proxy);
  const auto add = [&](std::string_view word, const std::string& value) {
    if (!value.empty()) words.push_back(StrCat(word, value));
  };
  add(kNamedWord, NamedText(cluster.named_hdfs));
  add(kViewWord, cluster.view);
  add(kMountsWord, cluster.mounts.ToText());
  add(kHttpsMastersWord, cluster.has_https_masters ? "true" : "");
  add(kRpcWord, ToText(cluster.hdfs_rpc.name_nodes));
  add(kNameNodePrincipalWord, cluster.hdfs_rpc.principal);
  add(kProvesWord, cluster.hdfs_rpc.proves_data_transfer ? "true" : "");
  add(kPrincipalWord, cluster.rm_principal);
  return Join(words, " ");
}

Result<YarnCluster> YarnClusterFromText(const std::string& text) {
  auto words = Split(text, ' ');
  const auto take = [&](std::string_view word) -> std::string {
    if (words.empty() || !words.back().starts_with(word)) return "";
    std::string value = words.back().substr(word.size());
    words.pop_back();
    return value;
  };
  std::string rm_principal = take(kPrincipalWord);
  hadoop::HdfsRpc rpc{.proves_data_transfer = !take(kProvesWord).empty()};
  rpc.principal = take(kNameNodePrincipalWord);
  const std::string name_nodes = take(kRpcWord);
  rpc.name_nodes = EndpointsFrom(name_nodes);
  const bool has_https_masters = !take(kHttpsMastersWord).empty();
  auto mounts = hadoop::MountTables::FromText(take(kMountsWord));
  std::string view = take(kViewWord);
  auto named = NamedFrom(take(kNamedWord));
  const Error bad{ErrorCode::kInvalid, StrCat("\"", text, "\": expected six to eight words")};
  if (words.size() < 6 || words.size() > 8) return bad;
  YarnCluster cluster{.rms = EndpointsFrom(words[0]),
                      .schedulers = EndpointsFrom(words[1]),
                      .name_node = ParseEndpoint(words[2], 0).value_or(Endpoint{words[2], -1}),
                      .webhdfs = Split(words[3], ','),
                      .user = words[4],
                      .home = words[5],
                      .rm_web = words.size() > 6 ? words[6] : "",
                      .web_proxy = words.size() > 7 ? words[7] : "",
                      .rm_principal = std::move(rm_principal),
                      .has_https_masters = has_https_masters,
                      .hdfs_rpc = std::move(rpc),
                      .named_hdfs = std::move(named),
                      .view = std::move(view),
                      .mounts = std::move(mounts)};
  const bool is_whole = name_nodes.empty() == cluster.hdfs_rpc.name_nodes.empty() && !cluster.rms.empty() &&
                        !cluster.schedulers.empty() && !cluster.webhdfs.empty() &&
                        cluster.name_node.host.find(':') == std::string::npos;
  return is_whole ? Result<YarnCluster>(std::move(cluster)) : bad;
}

Result<std::vector<Endpoint>> ResolveNameNodes(const YarnCluster& cluster) {
  std::vector<Endpoint> servers = cluster.hdfs_rpc.name_nodes;
  if (UsesWebHdfs(cluster)) {
    for (const std::string& base : cluster.webhdfs) {
      const size_t scheme = base.find("://");
      const auto web = scheme == std::string::npos ? std::nullopt : ParseEndpoint(base.substr(scheme + 3), 0);
      if (!web) return InvalidError("WebHDFS is at \"", base, "\", expected http://HOST:PORT or https://HOST:PORT");
      servers.push_back(*web);
    }
  }
  for (Endpoint& server : servers) {
    TRY_ASSIGN(server.host, ResolveHost(server.host));
  }
  return servers;
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

namespace {

// Returns the folders that may contain ssl-client.xml.
std::vector<std::filesystem::path> FoldersOf(const SiteFiles& files) {
  std::vector<std::filesystem::path> folders;
  for (const char* name : {kConfigurationVariable, kYarnConfigurationVariable})
    if (std::string folder = ExpandTilde(Variable(name).value_or("")); !folder.empty())
      folders.emplace_back(std::move(folder));
  if (!files.hdfs.empty()) folders.push_back(std::filesystem::path(files.hdfs).parent_path());
  return folders;
}

}  // namespace

bool HasHttps(const YarnCluster& cluster) { return cluster.webhdfs.front().starts_with("https:"); }

bool UsesWebHdfs(const YarnCluster& cluster) {
  return cluster.hdfs_rpc.name_nodes.empty() && cluster.gateway.empty();
}

std::vector<Endpoint> RpcServersOf(const YarnCluster& cluster) {
  if (cluster.name_node.port >= 0) return {cluster.name_node};
  const auto named = cluster.named_hdfs.find(cluster.name_node.host);
  return named == cluster.named_hdfs.end() ? cluster.hdfs_rpc.name_nodes : named->second.rpcs;
}

std::string HdfsPlacesOf(const YarnCluster& cluster) {
  std::vector<std::string> places = cluster.webhdfs;
  if (!UsesWebHdfs(cluster)) {
    places.clear();
    for (const Endpoint& server : RpcServersOf(cluster)) places.push_back("hdfs://" + ToString(server));
  }
  if (!cluster.gateway.empty()) places.push_back(cluster.gateway);
  return Join(places, ", ");
}

bool HasHttpsPages(const YarnCluster& cluster) { return cluster.rm_web.starts_with("https:"); }

std::string NoteOf(const YarnCluster& cluster) {
  return StrCat(ToText(cluster), cluster.gateway.empty() ? "" : StrCat("\n", kGatewayLine, cluster.gateway),
                cluster.trust ? "\n" + ToJson(*cluster.trust) : "");
}

Result<YarnCluster> YarnClusterFromNote(const std::string& note) {
  const std::vector<std::string> lines = Split(note, '\n');
  TRY_ASSIGN(YarnCluster cluster, YarnClusterFromText(lines.empty() ? "" : lines.front()));
  for (size_t at = 1; at < lines.size(); ++at) {
    if (lines[at].starts_with(kGatewayLine)) {
      cluster.gateway = lines[at].substr(kGatewayLine.size());
      continue;
    }
    TRY_ASSIGN(HttpTrust trust, HttpTrustFromJson(lines[at]));
    cluster.trust = std::make_shared<const HttpTrust>(std::move(trust));
  }
  return cluster;
}

namespace {

Result<Properties> ReadSites(const SiteFiles& files) {
  if (!IsConfigurationSet() && files == SiteFiles()) return YarnNotConfigured();
  Properties sites;
  for (const char* name : {kConfigurationVariable, kYarnConfigurationVariable})
    TRY(Add(name, ExpandTilde(Variable(name).value_or("")), hadoop::ReadSiteFolder, sites));
  TRY(Add(kHdfsSiteKey, files.hdfs, hadoop::ReadSite, sites));
  TRY(Add(kYarnSiteKey, files.yarn, hadoop::ReadSite, sites));
  return sites;
}

}  // namespace

std::optional<Endpoint> AmRmProxyOfNode() {
  if (!IsConfigurationSet()) return std::nullopt;
  const auto sites = ReadSites({});
  const auto proxy = sites.ok() ? hadoop::AmRmProxyOf(hadoop::SiteConfiguration(*sites, Variable))
                                : Result<std::optional<Endpoint>>(sites.error());
  if (proxy.ok()) return *proxy;
  LogWarn(StrCat("the node's site files do not say whether it has an AMRMProxy: ", proxy.error().message));
  return std::nullopt;
}

Result<YarnCluster> FindYarnCluster(const SiteFiles& files) {
  TRY_ASSIGN(const Properties sites, ReadSites(files));
  const std::string user = Variable("HADOOP_USER_NAME").value_or("");
  const hadoop::SiteConfiguration site(sites, Variable);
  TRY_ASSIGN(YarnCluster cluster, YarnClusterOf(site, user.empty() ? UserName(geteuid()) : user));
  // The servers of encryption zones. The NameNode's setting counts, but the client's trust does not come from there.
  TRY_ASSIGN(const auto key_provider, site.Find("hadoop.security.key.provider.path"));
  const bool has_https_kms = key_provider && key_provider->text.starts_with("kms://https@");
  const bool has_https_gateway = cluster.gateway.starts_with("https:");
  if (HasHttps(cluster) || HasHttpsPages(cluster) || has_https_gateway || has_https_kms) {
    TRY_ASSIGN(HttpTrust trust, hadoop::ReadHttpTrust(sites, FoldersOf(files), Variable));
    cluster.trust = std::make_shared<const HttpTrust>(std::move(trust));
  }
  if (!cluster.rm_principal.empty()) {
    TRY_ASSIGN(const std::string rules, site.Text("hadoop.security.auth_to_local"));
    TRY_ASSIGN(const std::string home, HomeFolderOf(cluster, rules));
    std::string name = home.substr(home.rfind('/') + 1);
    if (cluster.view.empty()) {
      cluster.home = home;
      cluster.user = std::move(name);
      return cluster;
    }
    // The mount table decides where the folder is, which may depend on the name.
    const auto trust = cluster.trust;
    TRY_ASSIGN(cluster, YarnClusterOf(site, std::move(name)));
    cluster.trust = trust;
  }
  return cluster;
}

Result<YarnCluster> FindYarnCluster(const JobId& job) {
  if (job.value.empty() && IsConfigurationSet()) return FindYarnCluster(SiteFiles());
  TRY_ASSIGN(const auto note, FindClusterNoteOrNewest(job));
  if (!note) return FindYarnCluster(SiteFiles());
  return Annotate(YarnClusterFromNote(note->text), note->file.string());
}

}  // namespace tony
