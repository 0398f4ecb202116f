// Bytes as people read them.
#pragma once

#include <string>
#include <string_view>

namespace tony::hadoop {

inline std::string ToHex(std::string_view bytes) {
  constexpr char kHexDigits[] = "0123456789abcdef";
  std::string out;
  for (const unsigned char byte : bytes) {
    out.push_back(kHexDigits[byte >> 4]);
    out.push_back(kHexDigits[byte & 15]);
  }
  return out;
}

inline std::string FromHex(std::string_view hex) {
  std::string out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    out.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  return out;
}

}  // namespace tony::hadoop
