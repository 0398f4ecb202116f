#include "runtime/base/json_text.h"

#include "runtime/base/strings.h"

namespace tony {

void AppendJsonString(std::string& out, std::string_view text) {
  if (!IsUtf8(text)) return AppendJsonString(out, ReplaceInvalidUtf8(text));
  constexpr std::string_view kSpecial = "\"\\\b\f\n\r\t", kLetters = "\"\\bfnrt", kDigits = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    if (const size_t special = kSpecial.find(c); special != std::string_view::npos) {
      out += {'\\', kLetters[special]};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += {'\\', 'u', '0', '0', kDigits[c >> 4], kDigits[c & 15]};
    } else {
      out += c;
    }
  }
  out += '"';
}

std::string JsonString(std::string_view text) {
  std::string out;
  AppendJsonString(out, text);
  return out;
}

std::string WithFields(std::string object, const std::map<std::string, std::string>& fields) {
  object.erase(object.rfind('}'));
  for (const auto& [name, value] : fields) {
    const bool first = object.find_last_not_of(" \n") == object.find('{');
    object += StrCat(first ? "" : ",", JsonString(name), ":", value);
  }
  return object + "}";
}

}  // namespace tony
