#include "runtime/yarn/hdfs_location.h"

#include <algorithm>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/job/hdfs_place.h"

namespace tony {
namespace {

constexpr std::string_view kView = "viewfs";

// Returns the name by which Hadoop's clients would call this HDFS: a logical name without its port.
Endpoint AuthorityOf(const YarnCluster& cluster, const Endpoint& name_node) {
  for (const auto& [name, unused] : cluster.named_hdfs)
    if (ToLower(name) == name_node.host) return {name, -1};
  return name_node;
}

bool IsOwn(const YarnCluster& cluster, const Endpoint& authority) {
  const Endpoint& own = cluster.name_node;
  if (authority.port < 0 && own.port >= 0) return cluster.named_hdfs.at(authority.host).rpcs == std::vector{own};
  return ToLower(authority.host) == ToLower(own.host) && (own.port < 0 || authority.port == own.port);
}

YarnCluster WithNameNode(YarnCluster cluster, const Endpoint& name_node) {
  const Endpoint authority = AuthorityOf(cluster, name_node);
  if (IsOwn(cluster, authority)) return cluster;
  cluster.name_node = authority;
  cluster.gateway.clear();
  cluster.hdfs_rpc.name_nodes = RpcServersOf(cluster);
  return cluster;
}

// Returns the cluster with the HDFS of which `web` is a web server or the logical name.
Result<YarnCluster> WithHdfsAtWeb(const YarnCluster& cluster, const Endpoint& web) {
  for (const auto& [name, hdfs] : cluster.named_hdfs)
    if (ToLower(name) == web.host || std::ranges::count(hdfs.webs, web) > 0)
      return WithNameNode(cluster, {ToLower(name), -1});
  const bool is_own = std::ranges::any_of(
      cluster.webhdfs, [&](const std::string& base) { return base.ends_with("/" + ToString(web)); });
  if (is_own) return cluster;
  return InvalidError("no NameNode of the site files has the web address ", ToString(web),
                      "; expected hdfs://HOST:PORT/PATH, because nodes fetch files from there");
}

}  // namespace

Result<HdfsLocation> Locate(const YarnCluster& cluster, const std::string& source) {
  TRY_ASSIGN(HdfsPlace place, ParseHdfsPlace(source));
  if (place.scheme == kView || (!place.name_node && !cluster.view.empty())) {
    const std::string table = place.name_node ? place.name_node->host : "";
    const std::string view = place.scheme == kView ? StrCat(kView, "://", table) : cluster.view;
    TRY_ASSIGN(std::string resolved, cluster.mounts.Resolve(view + place.path));
    const size_t authority = resolved.find("://") + 3;
    if (resolved.find('/', authority) == std::string::npos) resolved += "/";
    return Locate(cluster, resolved);
  }
  if (!place.name_node) return HdfsLocation{cluster, std::move(place.path)};
  if (place.scheme == "hdfs") return HdfsLocation{WithNameNode(cluster, *place.name_node), std::move(place.path)};
  TRY_ASSIGN(YarnCluster hdfs, WithHdfsAtWeb(cluster, *place.name_node));
  return HdfsLocation{std::move(hdfs), std::move(place.path)};
}

Result<YarnCluster> WithOtherHdfs(const YarnCluster& cluster, const std::string& url, const std::string& from) {
  const auto place = ParseHdfsPlace(url + "/");
  if (!place.ok() || !place->name_node || place->scheme != "hdfs")
    return InvalidError(from, " is \"", url,
                        "\", expected hdfs://HOST:PORT, or hdfs://NAME with a name of dfs.nameservices");
  return WithNameNode(cluster, *place->name_node);
}

Result<std::vector<std::string>> OtherHdfsOf(const YarnCluster& cluster, const JobSpec& spec) {
  std::vector<std::string> others = spec.yarn.other_name_nodes;
  const auto add = [&](const std::string& source) -> Status {
    if (!IsInHdfs(source)) return Ok();
    TRY_ASSIGN(const HdfsLocation location, Annotate(Locate(cluster, source), source));
    const std::string url = OwnHdfs(location.hdfs);
    if (!IsSameHdfs(location.hdfs, cluster) && std::ranges::count(others, url) == 0) others.push_back(url);
    return Ok();
  };
  TRY(add(spec.checkpoint.directory));
  for (const FileSpec& file : FilesInHdfs(spec)) TRY(add(file.source));
  (void)add(spec.history_folder);
  return others;
}

bool IsSameHdfs(const YarnCluster& cluster, const YarnCluster& other) { return cluster.name_node == other.name_node; }

std::string OwnHdfs(const YarnCluster& cluster) { return StrCat("hdfs://", HdfsAuthority(cluster.name_node)); }

}  // namespace tony
