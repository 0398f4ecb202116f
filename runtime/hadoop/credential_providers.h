// Finds passwords that a site keeps out of its configuration files: Hadoop's credential providers, and for all others
// the site files themselves. The program `hadoop credential create NAME -provider PATH` makes the file of a provider, a
// JCEKS (key_store.h). Other providers are refused: those in HDFS and in clouds, because a client needs the password
// before it can read HDFS, and `user:///`, because the credentials of a user are only in the containers of Hadoop's own
// programs.
//
// The keys and the variable are Hadoop's:
//
//   hadoop.security.credential.provider.path   e.g. "jceks://file/etc/a.jceks,localjceks://file/etc/b.jceks": the first
//                                              file with the password counts. Only files of this machine are read
//   $HADOOP_CREDSTORE_PASSWORD                 the password of these files. If it is not set, the content of the file
//   hadoop.security.credstore.java-keystore-provider.password-file
//                                              beside the site files, or "none" without this key
//   hadoop.security.credential.clear-text-fallback   false: a password in plain text does not count
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/hadoop/hadoop_xml.h"

namespace tony::hadoop {

inline constexpr char kCredentialProviders[] = "hadoop.security.credential.provider.path";

// Returns the password `key` with the place where it was found; nullopt: it is nowhere. A provider's file that does not
// exist has no passwords. `folders` may contain the file of the password. Blocks for the disk, and 0.1 s for a
// provider. kInvalid, with file and key: a provider is of another kind, cannot be read or is malformed, or has another
// password.
Result<std::optional<SiteConfiguration::Value>> FindPassword(const SiteConfiguration& site,
                                                             const std::vector<std::filesystem::path>& folders,
                                                             const SiteConfiguration::Environment& environment,
                                                             const std::string& key);

}  // namespace tony::hadoop
