#include "runtime/cli/key_list.h"

#include "runtime/base/check.h"
#include "runtime/base/strings.h"
#include "runtime/config/keys.h"

namespace tony {
namespace {

// Empty: it is honoured everywhere.
std::string Restriction(const Key& key) {
  switch (key.effect) {
    case KeyEffect::kImplemented:
      return {};
    case KeyEffect::kLocal:
      return "only with tony.scheduler=local";
    case KeyEffect::kYarn:
      return "only with tony.scheduler=yarn";
    case KeyEffect::kNone:
    case KeyEffect::kNotNeeded:
      return WhyNoEffect(key, "");
    case KeyEffect::kRefused:
      return StrCat("refused: ", key.reason);
  }
  CHECK(false);
}

std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '*' || c == '<' || c == '_') out.push_back('\\');
    out.push_back(c);
  }
  return out;
}

std::string Code(std::string_view text) { return text.empty() ? "" : StrCat("`", text, "`"); }

std::string_view SecretMark(const Key& key) { return key.secrecy == KeySecrecy::kSecret ? ", secret" : ""; }

}  // namespace

std::string KeyList(std::string_view part) {
  std::string list;
  for (const Key& key : AllKeys()) {
    if (key.name.find(part) == key.name.npos) continue;
    const std::string value = key.default_value.empty() ? "" : StrCat(", ", key.default_value, " if not set");
    const std::string restriction = Restriction(key);
    list += StrCat(key.name, "  (", ToString(key.type), value, SecretMark(key), ")\n    ", key.text, "\n");
    if (!restriction.empty()) list += StrCat("    ", restriction, "\n");
  }
  return list;
}

std::string KeyRowsInMarkdown() {
  std::string rows;
  for (const Key& key : AllKeys()) {
    rows += StrCat("| ", Code(key.name), " | ", ToString(key.type), SecretMark(key), " | ", Code(key.default_value),
                   " | ", Escaped(key.text), " | ", Escaped(Restriction(key)), " |\n");
  }
  return rows;
}

}  // namespace tony
