// The only table of keys: TonY's keys of 0.4.6 and 0.5.3, and our own. The manual is generated from it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "runtime/base/names.h"

namespace tony {

enum class KeyType {
  kText,
  kNumber,
  kMemory,   // e.g. 2048 (MB), 2048m, 2g
  kFlag,     // true or false
  kMillis,   // a duration in milliseconds
  kSeconds,  // a duration in seconds
  kList,     // values separated by commas
};
constexpr auto NamesOf(KeyType) {
  return EnumNames("text", "number", "memory", "true or false", "milliseconds", "seconds", "list");
}

enum class KeyEffect {
  kImplemented,
  kLocal,  // implemented for tony.scheduler=local; elsewhere as kNone
  kYarn,   // implemented for tony.scheduler=yarn; elsewhere as kNone
  // The key is accepted and has no effect. The user gets a warning, because the user may expect an effect.
  kNone,
  // This implementation has nothing that the key could set. The user gets no warning; only `plan --explain` reports the
  // key.
  kNotNeeded,
};

// The secrecy of a key's value: whether others may read it. For keys with <NAME> or <CODE>, the name
// decides, as for a variable.
enum class KeySecrecy { kOpen, kSecret };

struct Key {
  // <role>, <group> and <resource> stand for letters, <NAME> and <CODE> for any text.
  std::string_view name;
  KeyType type;
  // The value that applies if the key is not set.
  std::string_view default_value;
  KeyEffect effect;
  std::string_view text;  // a single line for the manual
  // The reason why the key has no effect, as one clause.
  std::string_view reason = {};
  KeySecrecy secrecy = KeySecrecy::kOpen;
};

std::span<const Key> AllKeys();

// Returns true if "tony.<name>.*" does not mean a role of that name.
bool IsReservedRole(std::string_view name);

// Returns the row of a key; null if the table has none. A row without <...> takes precedence over a row that matches
// with its placeholders.
const Key* FindKey(std::string_view name);

// Returns true if `value` means the default, however it is written.
bool IsDefault(const Key& row, std::string_view value);

// Returns why a key has no effect with tony.scheduler=`scheduler`, e.g. "no effect yet"; "" if it has an effect.
std::string WhyNoEffect(const Key& row, std::string_view scheduler);

// Returns the known key that a user who wrote `name` may have meant; "" if none is similar.
std::string NearestKey(std::string_view name);

}  // namespace tony
