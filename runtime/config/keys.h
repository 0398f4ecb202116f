// The one table of keys: TonY's of 0.4.6 and 0.5.3, and ours. The manual is generated from it.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tony {

enum class KeyType {
  kText,
  kNumber,
  kMemory,   // a number of MB, or a number followed by m or g
  kFlag,     // true or false
  kMillis,   // a duration in milliseconds
  kSeconds,  // a duration in seconds
  kList,     // separated by commas
};
std::string_view ToString(KeyType type);  // "text", "number", ...

enum class KeyEffect {
  kImplemented,
  kNone,     // accepted, no effect yet: a warning unless the value is the default
  kYarn,     // implemented for tony.scheduler=yarn; elsewhere the same warning
  kRefused,  // not supported yet, and to ignore it would run the wrong thing: an error unless empty or false
};

struct Key {
  std::string_view name;  // <role>, <group> and <resource> stand for letters, <NAME> for any text
  KeyType type;
  std::string_view default_value;
  KeyEffect effect;
  std::string_view text;  // one line for the manual
};

std::span<const Key> AllKeys();

// Whether "tony.<name>.*" means something else than a role of that name.
bool IsReservedRole(std::string_view name);

// The row of a key; null if there is none. A row without <...> goes before one that matches by it.
const Key* FindKey(std::string_view name);

// The known key that somebody who wrote `name` may have meant; empty if none is near.
std::string NearestKey(std::string_view name);

}  // namespace tony
