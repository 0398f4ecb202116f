// The one table of keys: TonY's of 0.4.6 and 0.5.3, and ours. The manual is generated from it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "runtime/base/names.h"

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
constexpr auto NamesOf(KeyType) {
  return EnumNames("text", "number", "memory", "true or false", "milliseconds", "seconds", "list");
}

enum class KeyEffect {
  kImplemented,
  kLocal,      // implemented for tony.scheduler=local; elsewhere as kNone
  kYarn,       // implemented for tony.scheduler=yarn; elsewhere as kNone
  kNone,       // accepted, no effect: a warning, as somebody may wait for one
  kNotNeeded,  // there is nothing in ours that it could set: no warning, `plan --explain` says so
  kRefused,    // to ignore it would run the wrong thing: an error unless empty or false
};

// Whether a key's value is for others to read. Of keys with <NAME> that name decides, as of any variable.
enum class KeySecrecy { kOpen, kSecret };

struct Key {
  std::string_view name;  // <role>, <group> and <resource> stand for letters, <NAME> for any text
  KeyType type;
  std::string_view default_value;  // what holds where nobody sets it
  KeyEffect effect;
  std::string_view text;         // one line for the manual
  std::string_view reason = {};  // why it has no effect, or is refused; one clause
  KeySecrecy secrecy = KeySecrecy::kOpen;
};

std::span<const Key> AllKeys();

// Whether "tony.<name>.*" means something else than a role of that name.
bool IsReservedRole(std::string_view name);

// The row of a key; null if there is none. A row without <...> goes before one that matches by it.
const Key* FindKey(std::string_view name);

// Whether the value says what would hold without it: the default, however it is written.
bool IsDefault(const Key& row, std::string_view value);

// Why a key has no effect, for tony.scheduler=`scheduler`: "no effect: there is no Java in ours". Empty: it has one.
std::string WhyNoEffect(const Key& row, std::string_view scheduler);

// The known key that somebody who wrote `name` may have meant; empty if none is near.
std::string NearestKey(std::string_view name);

}  // namespace tony
