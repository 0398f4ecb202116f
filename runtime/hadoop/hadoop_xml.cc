#include "runtime/hadoop/hadoop_xml.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/config/config_text.h"
#include "runtime/config/xml_text.h"

namespace tony::hadoop {
namespace {

constexpr const char* kSiteFiles[] = {"core-site.xml", "hdfs-site.xml", "yarn-site.xml"};
constexpr int kMostReplacements = 20;              // Configuration.MAX_SUBST
constexpr std::streamoff kLongestFile = 16 << 20;  // a thousand times the usual size

struct Default {
  const char* key;
  const char* value;
  const char* file;  // file in Hadoop's jars
};
constexpr Default kDefaults[] = {
    {"fs.defaultFS", "file:///", "core-default.xml"},
    {"hadoop.security.authentication", "simple", "core-default.xml"},
    {"hadoop.rpc.protection", "authentication", "core-default.xml"},
    {"hadoop.security.auth_to_local", "DEFAULT", "core-default.xml"},
    {"dfs.user.home.dir.prefix", "/user", "hdfs-default.xml"},
    {"dfs.webhdfs.enabled", "true", "hdfs-default.xml"},
    {"yarn.resourcemanager.hostname", "0.0.0.0", "yarn-default.xml"},
    {"yarn.resourcemanager.address", "${yarn.resourcemanager.hostname}:8032", "yarn-default.xml"},
    {"yarn.resourcemanager.scheduler.address", "${yarn.resourcemanager.hostname}:8030", "yarn-default.xml"},
    {"yarn.resourcemanager.webapp.address", "${yarn.resourcemanager.hostname}:8088", "yarn-default.xml"},
    {"yarn.resourcemanager.webapp.https.address", "${yarn.resourcemanager.hostname}:8090", "yarn-default.xml"},
    {"yarn.resourcemanager.ha.enabled", "false", "yarn-default.xml"},
    {"yarn.acl.enable", "false", "yarn-default.xml"},
    {"yarn.nodemanager.hostname", "0.0.0.0", "yarn-default.xml"},
    {"yarn.nodemanager.amrmproxy.enabled", "false", "yarn-default.xml"},
    {"yarn.nodemanager.amrmproxy.address", "0.0.0.0:8049", "yarn-default.xml"},
    {"yarn.nodemanager.distributed-scheduling.enabled", "false", "yarn-default.xml"},
    {"yarn.resourcemanager.connect.max-wait.ms", "900000", "yarn-default.xml"},
    {"yarn.resourcemanager.connect.retry-interval.ms", "30000", "yarn-default.xml"},
};
constexpr int kClientPort = 8032;     // YarnConfiguration.DEFAULT_RM_PORT
constexpr int kSchedulerPort = 8030;  // YarnConfiguration.DEFAULT_RM_SCHEDULER_PORT
constexpr int kRmHttpPort = 8088;     // YarnConfiguration.DEFAULT_RM_WEBAPP_PORT
constexpr int kRmHttpsPort = 8090;    // YarnConfiguration.DEFAULT_RM_WEBAPP_HTTPS_PORT
constexpr int kAmRmProxyPort = 8049;  // YarnConfiguration.DEFAULT_AMRM_PROXY_PORT
constexpr int kNameNodePort = 8020;   // HdfsClientConfigKeys.DFS_NAMENODE_RPC_PORT_DEFAULT
constexpr int kHdfsHttpPort = 9870;   // HdfsClientConfigKeys.DFS_NAMENODE_HTTP_PORT_DEFAULT
constexpr int kHdfsHttpsPort = 9871;  // HdfsClientConfigKeys.DFS_NAMENODE_HTTPS_PORT_DEFAULT

// A server listens at this address if it accepts connections on all devices.
constexpr char kEverywhere[] = "0.0.0.0";

Error NotOfTheForm(const SiteConfiguration::Value& value, const std::string& key, std::string_view expected) {
  return InvalidError(value.origin, ": ", key, " is \"", value.text, "\", expected ", expected);
}

// Returns the content of the file; nullopt if the file does not exist.
Result<std::optional<std::string>> ReadSiteFile(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::optional<std::string>();
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return NotPermittedError("open ", path.string(), ": not readable");
  if (file.tellg() > kLongestFile) return InvalidError(path.string(), ": the file is larger than 16 MiB");
  file.seekg(0);
  return std::optional<std::string>(std::string{std::istreambuf_iterator<char>(file), {}});
}

struct Reference {
  size_t begin = 0;  // offset of "${"
  size_t end = 0;    // offset behind "}"
  std::string name;
};

// Returns the first innermost reference "${name}", whose name contains neither a blank nor a "$"; nullopt if `text` has
// no such reference.
std::optional<Reference> FirstReference(std::string_view text) {
  for (size_t begin = text.find("${"); begin != std::string_view::npos; begin = text.find("${", begin + 2)) {
    const size_t end = text.find_first_of("}$ \t\r\n", begin + 2);
    if (end == std::string_view::npos) return std::nullopt;
    if (text[end] == '}' && end > begin + 2)
      return Reference{begin, end + 1, std::string(text.substr(begin + 2, end - begin - 2))};
  }
  return std::nullopt;
}

}  // namespace

SiteConfiguration::SiteConfiguration(const Properties& sites, Environment environment)
    : properties_(sites), environment_(std::move(environment)) {
  for (const Default& known : kDefaults) {
    if (!properties_.Find(known.key)) properties_.Set(known.key, known.value, known.file);
  }
}

Result<Properties> ReadSite(const std::filesystem::path& file) {
  TRY_ASSIGN(const auto text, ReadSiteFile(file));
  if (!text) return NotFoundError(file.string(), ": no such file");
  return ParseHadoopXmlWithIncludes(file, *text, file.string());
}

Result<Properties> ReadSiteFolder(const std::filesystem::path& folder) {
  Properties sites;
  bool any = false;
  for (const char* name : kSiteFiles) {
    const auto site = ReadSite(folder / name);
    if (!site.ok() && site.error().code == ErrorCode::kNotFound) continue;
    TRY(site);
    any = true;
    sites.Merge(*site);
  }
  if (any) return sites;
  return NotFoundError(folder.string(), ": expected a folder with core-site.xml, hdfs-site.xml or yarn-site.xml");
}

Result<SiteConfiguration> SiteConfiguration::Read(const std::filesystem::path& folder, Environment environment) {
  TRY_ASSIGN(const Properties sites, ReadSiteFolder(folder));
  return SiteConfiguration(sites, std::move(environment));
}

Result<std::optional<SiteConfiguration::Value>> SiteConfiguration::Find(const std::string& key) const {
  const Property* property = properties_.Find(key);
  if (!property) return std::optional<Value>();
  std::string text = property->value;
  for (int i = 0;; ++i) {
    const auto reference = FirstReference(text);
    if (!reference) break;
    const Property* other = properties_.Find(reference->name);
    const auto value = reference->name.starts_with("env.") ? FromEnvironment(reference->name.substr(4), environment_)
                                                           : (other ? std::optional(other->value) : std::nullopt);
    if (!value) break;
    if (i == kMostReplacements)
      return InvalidError(property->origin, ": ", key,
                          ": the value has more than 20 nested ${...}, or a ${...} that refers to itself");
    text.replace(reference->begin, reference->end - reference->begin, *value);
  }
  return std::optional<Value>({std::string(Trim(text)), property->origin});
}

Result<std::map<std::string, SiteConfiguration::Value>> SiteConfiguration::FindAll(std::string_view prefix) const {
  std::map<std::string, Value> found;
  for (const auto& [key, unused] : properties_.all()) {
    if (!key.starts_with(prefix)) continue;
    TRY_ASSIGN(auto value, Find(key));
    found[key] = *std::move(value);
  }
  return found;
}

Result<SiteConfiguration::Value> SiteConfiguration::Needed(const std::string& key) const {
  TRY_ASSIGN(auto value, Find(key));
  if (!value || value->text.empty())
    return InvalidError(value ? value->origin : "Hadoop's site files", ": ", key, " is not set");
  return *std::move(value);
}

Result<std::string> SiteConfiguration::Text(const std::string& key) const {
  TRY_ASSIGN(Value value, Needed(key));
  return std::move(value.text);
}

Result<int64_t> SiteConfiguration::Int(const std::string& key) const {
  TRY_ASSIGN(const Value value, Needed(key));
  const auto number = ParseInt(value.text);
  if (!number) return NotOfTheForm(value, key, "a whole number");
  return *number;
}

Result<bool> SiteConfiguration::Bool(const std::string& key) const {
  TRY_ASSIGN(const Value value, Needed(key));
  const std::string text = ToLower(value.text);
  if (text != "true" && text != "false") return NotOfTheForm(value, key, "true or false");
  return text == "true";
}

Result<Endpoint> SiteConfiguration::Address(const std::string& key, int default_port) const {
  TRY_ASSIGN(const Value value, Needed(key));
  auto endpoint = ParseEndpoint(value.text, default_port);
  if (!endpoint) return NotOfTheForm(value, key, "host:port");
  // A server with the address 0.0.0.0 listens on all addresses of its machine. Hadoop's clients then connect to their
  // own machine (NetUtils.getConnectAddress).
  if (endpoint->host == kEverywhere) endpoint->host = kLoopback;
  return *std::move(endpoint);
}

namespace {

// If a cluster has several ResourceManagers, the keys of each ResourceManager end with its id. A ResourceManager
// without an address key has the host of its hostname key, and the default port.
Result<std::string> KeyOfRm(const SiteConfiguration& site, const std::string& key, const std::string& id) {
  if (id.empty()) return key;
  TRY_ASSIGN(const auto own, site.Find(StrCat(key, ".", id)));
  return own ? StrCat(key, ".", id) : StrCat("yarn.resourcemanager.hostname.", id);
}

Result<Endpoint> AddressOfRm(const SiteConfiguration& site, const std::string& key, const std::string& id, int port) {
  TRY_ASSIGN(const std::string own_key, KeyOfRm(site, key, id));
  return site.Address(own_key, port);
}

// Returns the address of a daemon's web server. A server that listens on all addresses is reached by `host`.
Result<Endpoint> WebAddress(const SiteConfiguration& site, const std::string& key, int port, const std::string& host) {
  TRY_ASSIGN(Endpoint web, site.Address(key, port));
  TRY_ASSIGN(const std::string text, site.Text(key));
  if (text.starts_with(kEverywhere)) web.host = host;
  return web;
}

}  // namespace

Result<bool> IsHttpsOnly(const SiteConfiguration& site, const std::string& key) {
  TRY_ASSIGN(const auto value, site.Find(key));
  return value && ToLower(value->text) == "https_only";
}

Result<std::vector<ResourceManager>> ResourceManagers(const SiteConfiguration& site) {
  std::vector<std::string> ids = {""};
  TRY_ASSIGN(const bool several, site.Bool("yarn.resourcemanager.ha.enabled"));
  if (several) {
    TRY_ASSIGN(const std::string text, site.Text("yarn.resourcemanager.ha.rm-ids"));
    ids = Split(text, ',');
  }
  TRY_ASSIGN(const bool has_https, IsHttpsOnly(site, "yarn.http.policy"));
  const std::string web_address = StrCat("yarn.resourcemanager.webapp.", has_https ? "https." : "", "address");
  const int web_port = has_https ? kRmHttpsPort : kRmHttpPort;
  std::vector<ResourceManager> all;
  for (const std::string& id : ids) {
    ResourceManager manager{.id = std::string(Trim(id))};
    TRY_ASSIGN(manager.client, AddressOfRm(site, "yarn.resourcemanager.address", manager.id, kClientPort));
    TRY_ASSIGN(manager.scheduler,
               AddressOfRm(site, "yarn.resourcemanager.scheduler.address", manager.id, kSchedulerPort));
    const auto web_key = KeyOfRm(site, web_address, manager.id);
    const auto web = web_key.ok() ? WebAddress(site, *web_key, web_port, manager.client.host) : web_key.error();
    if (web.ok()) manager.web = *web;
    all.push_back(std::move(manager));
  }
  return all;
}

Result<std::optional<Endpoint>> AmRmProxyOf(const SiteConfiguration& node) {
  // Distributed scheduling needs the proxy, so a NodeManager starts it for either key.
  for (const char* key : {"yarn.nodemanager.amrmproxy.enabled", "yarn.nodemanager.distributed-scheduling.enabled"}) {
    TRY_ASSIGN(const bool has_proxy, node.Bool(key));
    if (!has_proxy) continue;
    TRY_ASSIGN(const Endpoint proxy, node.Address("yarn.nodemanager.amrmproxy.address", kAmRmProxyPort));
    return std::optional(proxy);
  }
  return std::optional<Endpoint>();
}

namespace {

// Returns the address of the web server of the NameNode on `host`. `suffix` is the end of its keys, such as
// ".cluster.nn1".
Result<Endpoint> HdfsWeb(const SiteConfiguration& site, const std::string& suffix, const std::string& host,
                         bool has_https) {
  const std::string key = StrCat("dfs.namenode.", has_https ? "https" : "http", "-address", suffix);
  const int port = has_https ? kHdfsHttpsPort : kHdfsHttpPort;
  TRY_ASSIGN(const auto value, site.Find(key));
  if (!value || value->text.empty()) return Endpoint{host, port};
  return WebAddress(site, key, port, host);
}

// Returns the ends of the keys of the NameNodes that have the logical name `service`.
Result<std::vector<std::string>> KeysOfNameNodes(const SiteConfiguration& site, const std::string& service) {
  TRY_ASSIGN(const auto ids, site.Find("dfs.ha.namenodes." + service));
  std::vector<std::string> suffixes;
  for (const std::string& id : Split(ids ? ids->text : "", ','))
    suffixes.push_back(StrCat(".", service, ".", Trim(id)));
  if (suffixes.empty()) suffixes.push_back("." + service);
  return suffixes;
}

Result<HdfsAddresses> HdfsNamed(const SiteConfiguration& site, const std::string& service) {
  TRY_ASSIGN(const bool has_https, IsHttpsOnly(site, "dfs.http.policy"));
  HdfsAddresses hdfs{.authority = {service, -1}, .has_https = has_https};
  TRY_ASSIGN(const auto suffixes, KeysOfNameNodes(site, service));
  for (const std::string& suffix : suffixes) {
    TRY_ASSIGN(const Endpoint rpc, site.Address("dfs.namenode.rpc-address" + suffix, kNameNodePort));
    TRY_ASSIGN(const Endpoint web, HdfsWeb(site, suffix, rpc.host, has_https));
    hdfs.rpcs.push_back(rpc);
    hdfs.webs.push_back(web);
  }
  return hdfs;
}

Result<std::vector<std::string>> LogicalNames(const SiteConfiguration& site) {
  TRY_ASSIGN(const auto services, site.Find("dfs.nameservices"));
  std::vector<std::string> names;
  for (const std::string& service : Split(services ? services->text : "", ',')) names.emplace_back(Trim(service));
  return names;
}

}  // namespace

Result<HdfsAddresses> HdfsOf(const SiteConfiguration& site, const std::string& url, const std::string& from) {
  constexpr std::string_view kScheme = "hdfs://";
  const std::string rest = url.starts_with(kScheme) ? url.substr(kScheme.size()) : "";
  const std::string authority = rest.substr(0, rest.find('/'));
  TRY_ASSIGN(const auto names, LogicalNames(site));
  if (std::ranges::count(names, authority) > 0) return HdfsNamed(site, authority);
  const auto name_node = ParseEndpoint(authority, kNameNodePort);
  if (!name_node)
    return InvalidError(from, " is \"", url,
                        "\", expected hdfs://HOST:PORT, or hdfs://NAME with a name of dfs.nameservices");
  // Without high availability, the NameNodes of a federation have logical names, and URLs name their addresses.
  for (const auto& [name, hdfs] : NamedHdfs(site))
    if (hdfs.rpcs == std::vector{*name_node}) return HdfsAddresses{*name_node, hdfs.rpcs, hdfs.webs, hdfs.has_https};
  TRY_ASSIGN(const bool has_https, IsHttpsOnly(site, "dfs.http.policy"));
  TRY_ASSIGN(const Endpoint web, HdfsWeb(site, "", name_node->host, has_https));
  return HdfsAddresses{*name_node, {*name_node}, {web}, has_https};
}

std::map<std::string, HdfsAddresses> NamedHdfs(const SiteConfiguration& site) {
  std::map<std::string, HdfsAddresses> all;
  const auto names = LogicalNames(site);
  if (!names.ok()) return all;
  for (const std::string& name : *names)
    if (auto hdfs = HdfsNamed(site, name); hdfs.ok()) all[name] = *std::move(hdfs);
  return all;
}

}  // namespace tony::hadoop
