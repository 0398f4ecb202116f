// What a cluster's administrator wrote for Hadoop's clients: core-site.xml, hdfs-site.xml and yarn-site.xml of
// $HADOOP_CONF_DIR, and the few of Hadoop's own defaults that we use.
//
// Files are read in that order. A later file replaces a key unless the key was <final>. XInclude is refused with the
// line. A value is expanded when somebody asks for it, so a broken key that nobody needs harms nobody. A value type,
// for any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/endpoint.h"
#include "runtime/base/result.h"
#include "runtime/config/properties.h"

namespace tony::hadoop {

class SiteConfiguration {
 public:
  struct Value {
    std::string text;    // expanded, without blanks around it
    std::string origin;  // "/etc/hadoop/yarn-site.xml:12", or "yarn-default.xml"
  };
  using Environment = std::function<std::optional<std::string>(const std::string& name)>;

  // ReadSiteFolder() with `environment`.
  static Result<SiteConfiguration> Read(const std::filesystem::path& folder, Environment environment);
  // `sites`: what stands in the files. Hadoop's defaults are behind it.
  SiteConfiguration(const Properties& sites, Environment environment);

  // ${key} becomes that key's value, ${env.X}, ${env.X-text} and ${env.X:-text} the variable X; a name that nobody
  // knows stays as it is. kInvalid, with file and key, after 20 replacements (Configuration.MAX_SUBST): a cycle.
  Result<std::optional<Value>> Find(const std::string& key) const;

  // kInvalid names file and key: the key is not set, or its text is of another form.
  Result<std::string> Text(const std::string& key) const;
  Result<int64_t> Int(const std::string& key) const;
  Result<bool> Bool(const std::string& key) const;
  Result<Endpoint> Address(const std::string& key, int default_port) const;

 private:
  Result<Value> Needed(const std::string& key) const;

  Properties properties_;
  Environment environment_;
};

// What the files say as it stands, for SiteConfiguration. Errors name the file, kInvalid its line. kNotFound: it is not
// there, or `folder` holds none of the three.
Result<Properties> ReadSiteFolder(const std::filesystem::path& folder);
Result<Properties> ReadSite(const std::filesystem::path& file);

// The ResourceManagers of a cluster, in the order in which to try them. A standby one listens on neither address.
struct ResourceManager {
  std::string id;      // of yarn.resourcemanager.ha.rm-ids; empty where there is only one
  Endpoint client;     // ApplicationClientProtocol
  Endpoint scheduler;  // ApplicationMasterProtocol
};
Result<std::vector<ResourceManager>> ResourceManagers(const SiteConfiguration& site);

}  // namespace tony::hadoop
