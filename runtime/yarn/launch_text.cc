#include "runtime/yarn/launch_text.h"

namespace tony {
namespace {

// Within double quotes.
void AppendEscaped(std::string& out, char c) {
  if (c == '$' || c == '"' || c == '\\' || c == '`') out += '\\';
  out += c;
}

// What the NodeManager replaces begins, or ends, with one of these. An empty string in between is nothing to a shell.
bool BeginsReplacement(char c) { return c == '<' || c == '{' || c == '}'; }

}  // namespace

std::string QuoteValue(std::string_view value) {
  std::string out;
  for (const char c : value) {
    AppendEscaped(out, c);
    if (BeginsReplacement(c)) out += "\"\"";  // the quotes end, and begin again
  }
  return out;
}

std::string QuoteArgument(std::string_view argument) {
  std::string out = "'";
  for (const char c : argument) {
    if (c == '\'') {
      out += R"('\\'')";  // in the script '\\'', for the inner shell '\''
    } else {
      AppendEscaped(out, c);
    }
    if (BeginsReplacement(c)) out += "''";
  }
  return out + "'";
}

}  // namespace tony
