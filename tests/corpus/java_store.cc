#include "tests/corpus/java_store.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string_view>
#include <vector>

#include "runtime/base/strings.h"

namespace tony {
namespace {

std::u16string Utf16(std::string_view text) {
  std::u16string out;
  while (!text.empty()) {
    const auto lead = static_cast<unsigned char>(text.front());
    const size_t bytes = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    uint32_t character = bytes == 1 ? lead : lead & (0xFFu >> (bytes + 1));
    for (const char c : text.substr(1, bytes - 1)) character = character << 6 | (static_cast<unsigned char>(c) & 0x3F);
    text.remove_prefix(bytes);
    if (character >= 0x10000) {
      out.push_back(static_cast<char16_t>(0xD800 + ((character - 0x10000) >> 10)));
      character = 0xDC00 + ((character - 0x10000) & 0x3FF);
    }
    out.push_back(static_cast<char16_t>(character));
  }
  return out;
}

std::string EscapedUnit(char16_t unit) {
  constexpr std::string_view kControls = "\t\n\r\f", kLetters = "tnrf", kSpecial = "\\=:#!";
  if (unit < 0x80) {
    const char c = static_cast<char>(unit);
    if (const size_t at = kControls.find(c); at != kControls.npos) return StrCat("\\", kLetters.substr(at, 1));
    if (kSpecial.find(c) != kSpecial.npos) return {'\\', c};
    if (c >= ' ' && c <= '~') return {c};
  }
  char escaped[8];
  std::snprintf(escaped, sizeof escaped, "\\u%04X", static_cast<unsigned>(unit));
  return escaped;
}

// Java escapes every space of a key, and in a value only a leading space.
std::string Escaped(std::string_view text, bool is_key) {
  std::string out;
  for (const char16_t unit : Utf16(text)) {
    if (unit == ' ' && (is_key || out.empty())) out.push_back('\\');
    out += EscapedUnit(unit);
  }
  return out;
}

}  // namespace

std::string StoreAsJava(const Properties& properties) {
  std::vector<std::string> lines;
  for (const auto& [key, property] : properties.all()) {
    lines.push_back(StrCat(Escaped(key, true), "=", Escaped(property.value, false), "\n"));
  }
  std::ranges::shuffle(lines, std::minstd_rand(1));
  return StrCat("#Thu Jan 01 00:00:00 UTC 1970\n", Join(lines, ""));
}

}  // namespace tony
