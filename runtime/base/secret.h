// Compares secrets.
#pragma once

#include <string_view>

namespace tony {

// Returns whether two secrets are equal. The time does not depend on the place of the first difference. An empty secret
// equals nothing, not even another empty one.
inline bool SameSecret(std::string_view a, std::string_view b) {
  if (a.empty() || a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

}  // namespace tony
