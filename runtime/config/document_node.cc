#include "runtime/config/document_node.h"

#include "runtime/base/check.h"
#include "runtime/base/strings.h"
#include "runtime/base/utf8.h"

namespace tony {

std::string_view ToString(DocumentNode::Kind kind) {
  switch (kind) {
    case DocumentNode::Kind::kNull:
      return "null";
    case DocumentNode::Kind::kBool:
      return "true or false";
    case DocumentNode::Kind::kNumber:
      return "a number";
    case DocumentNode::Kind::kText:
      return "a text";
    case DocumentNode::Kind::kArray:
      return "a list";
    case DocumentNode::Kind::kObject:
      return "an object";
  }
  CHECK(false);
}

std::string InQuotes(std::string_view text, size_t longest) {
  std::string out = "\"";
  for (const char c : ReplaceInvalidUtf8(text.substr(0, longest))) {
    const bool control = (c >= 0 && c < ' ') || c == '\x7F';
    out.push_back(control ? '?' : c);
  }
  return StrCat(out, text.size() > longest ? "..." : "", "\"");
}

}  // namespace tony
