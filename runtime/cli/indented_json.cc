#include "runtime/cli/indented_json.h"

#include "runtime/base/strings.h"

namespace tony {

std::string IndentedJson(std::string_view object) {
  std::string out;
  size_t depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < object.size(); ++i) {
    const char c = object[i];
    if (in_string && c == '\\') {
      out.append(object.substr(i++, 2));
      continue;
    }
    if (c == '"') in_string = !in_string;
    const bool empty = !in_string && (c == '{' || c == '[') && i + 1 < object.size() && object[i + 1] == c + 2;
    if (in_string || empty || (c != '}' && c != ']')) out.push_back(c);
    if (in_string) continue;
    if (empty) {
      out.push_back(object[++i]);
    } else if (c == '{' || c == '[') {
      out.append(StrCat("\n", std::string(2 * ++depth, ' ')));
    } else if (c == '}' || c == ']') {
      out.append(StrCat("\n", std::string(2 * --depth, ' '), c));
    } else if (c == ',') {
      out.append(StrCat("\n", std::string(2 * depth, ' ')));
    } else if (c == ':') {
      out.push_back(' ');
    }
  }
  return out;
}

}  // namespace tony
