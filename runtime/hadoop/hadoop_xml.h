// Reads the configuration that a cluster's administrator wrote for Hadoop's clients: core-site.xml, hdfs-site.xml and
// yarn-site.xml of $HADOOP_CONF_DIR. `SiteConfiguration` also contains the defaults of Hadoop that TonY uses.
//
// Files are read in that order. A later file replaces a key unless an earlier file marks it as <final>. A file may
// include other files (XInclude), as mount tables often are. A value is expanded when it is read, so a broken value
// harms only callers that read it. A value type, usable in any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/endpoint.h"
#include "runtime/base/result.h"
#include "runtime/config/properties.h"

namespace tony::hadoop {

class SiteConfiguration {
 public:
  struct Value {
    std::string text;    // expanded and trimmed
    std::string origin;  // e.g. "/etc/hadoop/yarn-site.xml:12" or "yarn-default.xml"
  };
  using Environment = std::function<std::optional<std::string>(const std::string& name)>;

  // Reads `folder` with ReadSiteFolder(). `environment` is for ${env.X} in values.
  static Result<SiteConfiguration> Read(const std::filesystem::path& folder, Environment environment);
  // `sites` contains the properties of the site files. Keys that are not set there get Hadoop's defaults.
  SiteConfiguration(const Properties& sites, Environment environment);

  // Returns the expanded value of `key`; nullopt if the key is not set. ${key} becomes that key's value. ${env.X},
  // ${env.X-text} and ${env.X:-text} become the variable X. A reference to an unknown name stays as it is. kInvalid,
  // with file and key: more than 20 replacements (Configuration.MAX_SUBST), so probably a cycle.
  Result<std::optional<Value>> Find(const std::string& key) const;

  // Returns the values of all keys that begin with `prefix`, with the errors of Find().
  Result<std::map<std::string, Value>> FindAll(std::string_view prefix) const;

  // Each of these functions returns the value of `key`. kInvalid: the key is not set, or its text has another form. The
  // message names file and key.
  Result<std::string> Text(const std::string& key) const;
  Result<int64_t> Int(const std::string& key) const;
  Result<bool> Bool(const std::string& key) const;
  Result<Endpoint> Address(const std::string& key, int default_port) const;

 private:
  Result<Value> Needed(const std::string& key) const;

  Properties properties_;
  Environment environment_;
};

// Returns the properties of site files as they are written, without expansion. Errors name the file, and parse errors
// its line. kNotFound: `file` does not exist, or `folder` has none of the three files.
Result<Properties> ReadSiteFolder(const std::filesystem::path& folder);
Result<Properties> ReadSite(const std::filesystem::path& file);

// A ResourceManager of a cluster. ResourceManagers() returns them in the order in which to try them. A standby
// ResourceManager listens on neither address.
struct ResourceManager {
  // Taken from yarn.resourcemanager.ha.rm-ids. Empty if the cluster has only one ResourceManager.
  std::string id;
  Endpoint client;     // address of ApplicationClientProtocol
  Endpoint scheduler;  // address of ApplicationMasterProtocol
  // The web server, an HTTPS server if yarn.http.policy is HTTPS_ONLY. Not set: its address is not known, because a job
  // does not need it.
  std::optional<Endpoint> web;
};
// Returns whether the value of a policy (dfs.http.policy, yarn.http.policy) is HTTPS_ONLY.
Result<bool> IsHttpsOnly(const SiteConfiguration& site, const std::string& key);
Result<std::vector<ResourceManager>> ResourceManagers(const SiteConfiguration& site);

// Returns the address of the AMRMProxy that a NodeManager with these site files runs. Such a node replaces the token of
// an AM, so that its AMs can call only this server. nullopt: the node has none.
Result<std::optional<Endpoint>> AmRmProxyOf(const SiteConfiguration& node);

// An HDFS, and its NameNodes in the order in which to try them.
struct HdfsAddresses {
  // The host and port of the NameNode, or the logical name of several NameNodes (dfs.nameservices) with port -1.
  Endpoint authority;
  // The addresses of the NameNodes' RPC servers, and of their web servers, which serve WebHDFS.
  std::vector<Endpoint> rpcs, webs;
  // dfs.http.policy is HTTPS_ONLY, so `webs` are HTTPS servers.
  bool has_https = false;
};
// Returns the HDFS with this URL, such as "hdfs://nn.example.org:8020"; `from` names the setting with the URL.
// kInvalid: the URL does not name an HDFS, or a NameNode of its logical name has no address.
Result<HdfsAddresses> HdfsOf(const SiteConfiguration& site, const std::string& url, const std::string& from);
// Returns each HDFS with a logical name, by this name. An HDFS whose addresses cannot be read is left out.
std::map<std::string, HdfsAddresses> NamedHdfs(const SiteConfiguration& site);

}  // namespace tony::hadoop
