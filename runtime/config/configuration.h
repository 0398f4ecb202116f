// The configuration of a job, for people and for TonY's tools: each value and the place where it was set. Secrets are
// masked when the configuration is made, so the configuration may be stored and shown.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/config/properties.h"

namespace tony {

inline constexpr std::string_view kDefaultSource = "default";

struct ConfiguredValue {
  std::string key;
  std::string value;
  // A property's origin; kDefaultSource if the key was not set, so that its default applies.
  std::string source;
  bool operator==(const ConfiguredValue&) const = default;
};
using Configuration = std::vector<ConfiguredValue>;  // sorted by key

// Returns all properties, and the defaults of those keys that were not set and that have an effect with the job's
// scheduler. Defaults of keys for roles are listed for each role with tony.<role>.instances.
Configuration EffectiveConfiguration(const Properties& properties);

// Returns true if the name of a variable or a property contains "password", "secret", "token" or "key". Other users
// must not see the value that has such a name.
bool IsSecretName(std::string_view name);
inline constexpr std::string_view kMask = "********";

// Returns what others may see of a property. kMask replaces the value of main.args, which may contain variables, and
// the value of a secret key. The table of keys decides which keys are secret. If a key has no row in the table, or only
// a row with <NAME> or <CODE>, the name of the key decides. In a list of variables, kMask replaces the values of
// variables with a secret name.
std::string MaskedValue(std::string_view key, std::string_view value);

// Returns the configuration in Hadoop's format with <final> and <source>, which TonY's portal requires. Characters that
// XML cannot contain are replaced.
std::string ToHadoopXml(const Configuration& configuration);

}  // namespace tony
