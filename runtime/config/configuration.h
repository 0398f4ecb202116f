// What a job was configured with, for people and for tools of TonY's: each value and where it came from. Secrets are
// masked in it from the beginning, so that it may be kept and shown.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/config/properties.h"

namespace tony {

struct ConfiguredValue {
  std::string key;
  std::string value;
  std::string source;  // a property's origin; "default": nobody set it, and this is what holds
  bool operator==(const ConfiguredValue&) const = default;
};
using Configuration = std::vector<ConfiguredValue>;  // by key

// All properties, and the defaults of the keys of the table that have an effect on the job's scheduler and were not set:
// for keys of roles, those of the roles with a tony.<role>.instances.
Configuration EffectiveConfiguration(const Properties& properties);

// Whether what goes by this name (a variable, a property) is not for others to read: the name holds "password",
// "secret", "token" or "key".
bool IsSecretName(std::string_view name);
inline constexpr std::string_view kMask = "********";

// What others may see of a property: kMask for main.args, which may hold variables, and for what is secret by the table
// of keys, or by its name where it has no row or a row for any name; in a list of variables, of those with a secret's
// name.
std::string MaskedValue(std::string_view key, std::string_view value);

// Hadoop's configuration format, with <final> and <source>, which TonY's portal insists on. What XML cannot hold is
// replaced.
std::string ToHadoopXml(const Configuration& configuration);

}  // namespace tony
