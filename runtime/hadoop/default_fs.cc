#include "runtime/hadoop/default_fs.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/base/strings.h"

namespace tony::hadoop {
namespace {

constexpr char kRpcAddressKey[] = "dfs.namenode.rpc-address";
// The default ports of dfs.namenode.http-address and https-address.
constexpr int kWebPort = 9870, kSecureWebPort = 9871;

struct WebAddressOfFs {
  bool has_https = false;
  Endpoint server;
  std::string path;
};

// Reads "webhdfs://HOST:PORT/PATH"; nullopt for any other text.
std::optional<WebAddressOfFs> ParseWebFs(const std::string& text) {
  for (const bool has_https : {false, true}) {
    const std::string scheme = has_https ? "swebhdfs://" : "webhdfs://";
    if (!text.starts_with(scheme)) continue;
    const std::string rest = text.substr(scheme.size());
    const size_t slash = std::min(rest.find('/'), rest.size());
    const auto server = ParseEndpoint(rest.substr(0, slash), has_https ? kSecureWebPort : kWebPort);
    if (server) return WebAddressOfFs{has_https, *server, rest.substr(slash)};
  }
  return std::nullopt;
}

// Returns the HDFS behind a gateway, as an "hdfs://" address.
Result<std::string> HdfsBehind(const SiteConfiguration& site, const std::string& key, const std::string& text) {
  TRY_ASSIGN(const auto rpc, site.Find(kRpcAddressKey));
  if (rpc && !rpc->text.empty()) return "hdfs://" + rpc->text;
  const auto named = NamedHdfs(site);
  if (named.size() == 1) return "hdfs://" + named.begin()->first;
  return InvalidError(key, " is \"", text, "\", a gateway: set ", kRpcAddressKey, " in hdfs-site.xml to HOST:PORT of ",
                      "its NameNode, which the job and the calls about names need");
}

Result<DefaultFs> WebFsOf(const SiteConfiguration& site, const std::string& key, const std::string& text) {
  const auto web = ParseWebFs(text);
  if (!web) return InvalidError(key, " is \"", text, "\", expected webhdfs://HOST:PORT or swebhdfs://HOST:PORT");
  if (web->path.find("/gateway/") != std::string::npos)
    return InvalidError(key, " is \"", text, "\", the address of a Knox gateway, which does not carry the RPC of the ",
                        "ResourceManager that a job needs; set it to hdfs://HOST:PORT on a machine that reaches the ",
                        "cluster");
  DefaultFs fs;
  if (const std::string name = NameAtWeb(NamedHdfs(site), web->server); !name.empty()) {
    TRY_ASSIGN(fs.hdfs, HdfsOf(site, "hdfs://" + name, key));
    return fs;
  }
  TRY_ASSIGN(const std::string behind, HdfsBehind(site, key, text));
  TRY_ASSIGN(fs.hdfs, HdfsOf(site, behind, key));
  if (std::ranges::count(fs.hdfs.webs, web->server) == 0)
    fs.gateway = StrCat(web->has_https ? "https://" : "http://", ToString(web->server));
  return fs;
}

Result<DefaultFs> ViewFsOf(const SiteConfiguration& site, const MountTables& mounts, const std::string& key,
                           const std::string& text, const std::string& user) {
  const auto look = [&]() -> Result<std::string> {
    TRY_ASSIGN(const std::string home, mounts.HomeOf(text, user));
    return mounts.Resolve(home);
  };
  TRY_ASSIGN(const std::string resolved, Annotate(look(), StrCat(key, " is \"", text, "\"")));
  const size_t authority = resolved.find("://") + 3, path = std::min(resolved.find('/', authority), resolved.size());
  DefaultFs fs{.home = path == resolved.size() ? "/" : resolved.substr(path),
               .view = text.substr(0, text.find('/', text.find("://") + 3))};
  TRY_ASSIGN(fs.hdfs, HdfsOf(site, resolved.substr(0, path), StrCat(key, " is \"", text, "\", whose home folder")));
  return fs;
}

}  // namespace

Result<MountTables> MountTablesOf(const SiteConfiguration& site) {
  TRY_ASSIGN(const auto found, site.FindAll(kMountTablePrefix));
  std::vector<MountEntry> entries;
  for (const auto& [key, value] : found)
    entries.push_back({key.substr(kMountTablePrefix.size()), value.text, value.origin});
  return MountTables(std::move(entries));
}

Result<DefaultFs> DefaultFsOf(const SiteConfiguration& site, const MountTables& mounts, const std::string& user) {
  TRY_ASSIGN(const auto value, site.Find(kDefaultFsKey));
  const std::string text = value ? value->text : "";
  const std::string key = StrCat(value ? value->origin : "core-site.xml", ": ", kDefaultFsKey);
  if (text.starts_with("viewfs://")) return ViewFsOf(site, mounts, key, text, user);
  DefaultFs fs;
  if (text.starts_with("webhdfs:") || text.starts_with("swebhdfs:")) {
    TRY_ASSIGN(fs, WebFsOf(site, key, text));
  } else {
    TRY_ASSIGN(fs.hdfs, HdfsOf(site, text, key));
  }
  TRY_ASSIGN(const std::string homes, site.Text("dfs.user.home.dir.prefix"));
  fs.home = StrCat(homes, "/", user);
  return fs;
}

std::string NameAtWeb(const std::map<std::string, HdfsAddresses>& named, const Endpoint& web) {
  for (const auto& [name, hdfs] : named)
    if (name == web.host || std::ranges::count(hdfs.webs, web) > 0) return name;
  return "";
}

}  // namespace tony::hadoop
