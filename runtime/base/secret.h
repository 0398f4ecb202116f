// Comparing secrets.
#pragma once

#include <string_view>

namespace tony {

// Takes the same time wherever the first difference is. Nothing is like an empty secret, not even another one.
inline bool SameSecret(std::string_view a, std::string_view b) {
  if (a.empty() || a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

}  // namespace tony
