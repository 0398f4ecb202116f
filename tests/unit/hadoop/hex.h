// Bytes from hexadecimal text.
#pragma once

#include <string>
#include <string_view>

namespace tony::hadoop {

inline std::string FromHex(std::string_view hex) {
  std::string out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    out.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  return out;
}

}  // namespace tony::hadoop
